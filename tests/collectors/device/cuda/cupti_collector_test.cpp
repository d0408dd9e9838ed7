#include "collectors/device/cuda/cupti_collector.h"

#include <doctest/doctest.h>

#include <condition_variable>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "analyzer/base/clock.h"
#include "tests/collectors/device/cuda/kept_tracks.h"

namespace stallscope {
namespace {

using namespace device::cuda;

// A CUPTI that gives the records that a test has put into it, at the flush that the test asks for.
struct FakeCupti {
  CUpti_ActivityKind refused = CUPTI_ACTIVITY_KIND_INVALID;
  size_t dropped = 0;
  std::vector<uint64_t> numbers;  // that work was enqueued under
  std::vector<CUpti_ActivityKind> enabled;
  int popped = 0;

  std::mutex mutex;
  std::condition_variable flushed;
  std::vector<std::vector<uint8_t>> records;
  bool give_now = false;
  int flushes = 0;
  CUpti_BuffersCallbackRequestFunc request = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;

  template <class Record>
  void Put(const Record& record) {
    const std::lock_guard<std::mutex> lock(mutex);
    const auto* bytes = reinterpret_cast<const uint8_t*>(&record);
    records.emplace_back(bytes, bytes + sizeof record);
  }
  // Returns after a flush that gave everything.
  void Give() {
    std::unique_lock<std::mutex> lock(mutex);
    give_now = true;
    flushed.wait(lock, [this] { return !give_now; });
  }
};
FakeCupti* fake = nullptr;

// The buffers hold no bytes of CUPTI's, only the number of the record that comes next.
CUptiResult CUPTIAPI Next(uint8_t* buffer, size_t bytes, CUpti_Activity** record) {
  static thread_local std::vector<std::vector<uint8_t>> given;
  static thread_local size_t at = 0;
  if (*record == nullptr) {
    const std::lock_guard<std::mutex> lock(fake->mutex);
    given = std::exchange(fake->records, {});
    at = 0;
  }
  if (buffer == nullptr || bytes == 0 || at == given.size()) {
    return CUPTI_ERROR_MAX_LIMIT_REACHED;
  }
  *record = reinterpret_cast<CUpti_Activity*>(given[at++].data());
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI Flush(uint32_t flags) {
  {
    const std::lock_guard<std::mutex> lock(fake->mutex);
    if (!fake->give_now && (flags & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) == 0) return CUPTI_SUCCESS;
  }
  uint8_t* buffer = nullptr;
  size_t bytes = 0;
  size_t most = 1;
  fake->request(&buffer, &bytes, &most);
  CHECK(buffer != nullptr);
  CHECK(bytes >= 1024);
  CHECK(most == 0);
  fake->complete(nullptr, 0, buffer, bytes, bytes);
  const std::lock_guard<std::mutex> lock(fake->mutex);
  fake->give_now = false;
  fake->flushed.notify_all();
  return CUPTI_SUCCESS;
}

CuptiLibrary FakeLibrary() {
  CuptiLibrary cupti;
  cupti.words = [](CUptiResult code, const char** text) {
    *text = code == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ? "insufficient privileges" : "an error";
    return CUPTI_SUCCESS;
  };
  // Half a second behind ours.
  cupti.now = [](uint64_t* ns) {
    *ns = static_cast<uint64_t>(MonotonicNs()) - 500'000'000;
    return CUPTI_SUCCESS;
  };
  cupti.call_name = [](CUpti_CallbackDomain domain, uint32_t, const char** name) {
    *name = domain == CUPTI_CB_DOMAIN_RUNTIME_API ? "cudaLaunchKernel_v7000" : "cuLaunchKernel";
    return CUPTI_SUCCESS;
  };
  cupti.set_thread_ids = [](CUpti_ActivityThreadIdType) { return CUPTI_SUCCESS; };
  cupti.set_callbacks = [](CUpti_BuffersCallbackRequestFunc request,
                           CUpti_BuffersCallbackCompleteFunc complete) {
    fake->request = request;
    fake->complete = complete;
    return CUPTI_SUCCESS;
  };
  cupti.enable = [](CUpti_ActivityKind kind) {
    if (kind == fake->refused) return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
    fake->enabled.push_back(kind);
    return CUPTI_SUCCESS;
  };
  cupti.disable = [](CUpti_ActivityKind kind) {
    std::erase(fake->enabled, kind);
    return CUPTI_SUCCESS;
  };
  cupti.flush = Flush;
  cupti.next_record = Next;
  cupti.dropped = [](CUcontext, uint32_t, size_t* count) {
    *count = std::exchange(fake->dropped, 0);
    return CUPTI_SUCCESS;
  };
  cupti.push = [](CUpti_ExternalCorrelationKind, uint64_t number) {
    fake->numbers.push_back(number);
    return CUPTI_SUCCESS;
  };
  cupti.pop = [](CUpti_ExternalCorrelationKind, uint64_t*) {
    ++fake->popped;
    return CUPTI_SUCCESS;
  };
  return cupti;
}

double TicksPerNs() {
  ClockMap map;
  map.Add(ReadClockAnchor());
  const int64_t until = MonotonicNs() + 20'000'000;
  while (MonotonicNs() < until) {
  }
  map.Add(ReadClockAnchor());
  return map.TicksPerSecond() / 1e9;
}

uint64_t CuptiNow() { return static_cast<uint64_t>(MonotonicNs()) - 500'000'000; }

struct Collected {
  FakeCupti cupti;
  CuptiLibrary functions;
  std::shared_ptr<test::KeptTracks> tracks = std::make_shared<test::KeptTracks>();
  double ticks_per_ns = TicksPerNs();

  Collected() {
    fake = &cupti;
    functions = FakeLibrary();
  }
  std::shared_ptr<ActivityCollector> Start() {
    auto started = StartCollector(functions, tracks, ticks_per_ns);
    REQUIRE(started.ok());
    return std::move(started).value();
  }
};

TEST_SUITE("fast") {
  TEST_CASE("what CUPTI gives comes to its stream's track, at its time on our clock") {
    Collected c;
    auto collector = c.Start();
    CHECK(c.cupti.enabled.size() == 9);
    const std::shared_ptr<device::DeviceTrack> stream = c.tracks->New({.name = "compute"});
    const Ticks enqueued = NowTicks();
    const uint64_t number = collector->Begin({stream, ItemId{7}, 3, enqueued, {}});
    collector->End();
    CHECK(c.cupti.numbers == std::vector<uint64_t>{number});
    CHECK(c.cupti.popped == 1);

    const uint64_t now = CuptiNow();
    CUpti_ActivityKernel9 kernel{};
    kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    kernel.correlationId = 11;
    kernel.start = now + 1'000'000;
    kernel.end = now + 3'000'000;
    kernel.name = "_ZN10stallscope6device4cuda4EachILi3ENS1_11ElementwiseEEEvT0_l";
    c.cupti.Put(kernel);
    CUpti_ActivityMemcpy5 copy{};
    copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
    copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
    copy.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
    copy.correlationId = 11;
    copy.bytes = 640;
    copy.start = now + 4'000'000;
    copy.end = now + 5'000'000;
    c.cupti.Put(copy);
    CUpti_ActivityMemset4 zero{};
    zero.kind = CUPTI_ACTIVITY_KIND_MEMSET;
    zero.correlationId = 11;
    zero.start = now + 6'000'000;
    zero.end = now + 7'000'000;
    c.cupti.Put(zero);
    CUpti_ActivityExternalCorrelation link{};
    link.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
    link.correlationId = 11;
    link.externalId = number;
    c.cupti.Put(link);
    c.cupti.Give();
    collector.reset();

    const auto& rows = c.tracks->rows;
    REQUIRE(rows.size() == 3);
    CHECK(rows[0].track == "compute");
    CHECK(rows[0].what == device::Name(device::Kernel::kGeluBackward));
    CHECK(rows[0].batch == ItemId{7});
    CHECK(rows[0].graph == 3);
    CHECK(rows[0].correlation == number);
    CHECK(rows[1].what == "copy 640 p");
    CHECK(rows[2].what == "5 memset");
    const auto length = static_cast<double>(rows[0].times.end - rows[0].times.start);
    CHECK(length / c.ticks_per_ns == doctest::Approx(2'000'000).epsilon(0.01));
    const auto after = static_cast<double>(rows[0].times.start - enqueued) / c.ticks_per_ns;
    CHECK(after > 1'000'000);
    CHECK(after < 1'000'000'000);  // not the half second that the clocks lie apart
    REQUIRE(c.tracks->limits.size() == 1);
    CHECK(c.tracks->limits[0].find("the device's times are CUPTI's, within ") == 0);
    CHECK(c.tracks->warnings.empty());
    CHECK(c.cupti.enabled.empty());
  }

  TEST_CASE("calls, waits and overhead have tracks beside the streams") {
    Collected c;
    auto collector = c.Start();
    const uint64_t now = CuptiNow();
    for (const CUpti_ActivityKind kind :
         {CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER}) {
      CUpti_ActivityAPI call{};
      call.kind = kind;
      call.threadId = 42;
      call.start = now;
      call.end = now + (kind == CUPTI_ACTIVITY_KIND_RUNTIME ? 2'000u : 1'000u);
      c.cupti.Put(call);
    }
    CUpti_ActivitySynchronization wait{};
    wait.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
    wait.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE;
    wait.start = now;
    wait.end = now + 1'000;
    c.cupti.Put(wait);
    CUpti_ActivityOverhead overhead{};
    overhead.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
    overhead.overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH;
    overhead.start = now;
    overhead.end = now + 1'000;
    c.cupti.Put(overhead);
    c.cupti.Give();
    collector.reset();
    std::vector<std::string> seen;
    for (const auto& row : c.tracks->rows) seen.push_back(row.track + ": " + row.what);
    const std::string thread = "CUDA calls of thread 42: ";
    CHECK(seen == std::vector<std::string>{thread + "2 cuLaunchKernel",
                                           thread + "2 cudaLaunchKernel",
                                           "CUDA synchronization: 2 event synchronize",
                                           "CUPTI overhead: 2 CUPTI flushes"});
  }

  TEST_CASE("what is still on its way comes in the end, and what is lost is counted") {
    Collected c;
    auto collector = c.Start();
    CUpti_ActivityKernel9 kernel{};
    kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    kernel.start = CuptiNow();
    kernel.end = kernel.start + 1'000;
    kernel.name = "sgemm";
    c.cupti.Put(kernel);
    c.cupti.dropped = 4;
    collector.reset();  // flushes
    REQUIRE(c.tracks->rows.size() == 1);
    CHECK(c.tracks->rows[0].what == "sgemm");
    CHECK(c.tracks->rows[0].track == "device 0 other work");
    CHECK(c.tracks->lost == 4);
    REQUIRE(c.tracks->warnings.size() == 1);
    CHECK(c.tracks->warnings[0] == "CUPTI lost 4 records");
  }

  TEST_CASE("a refusal says why, and leaves nothing switched on") {
    Collected c;
    c.cupti.refused = CUPTI_ACTIVITY_KIND_MEMSET;
    const auto refused = StartCollector(c.functions, c.tracks, c.ticks_per_ns);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().kind == ErrorKind::kRun);
    CHECK(refused.error().Line().find("CUPTI is refused: insufficient privileges") !=
          std::string::npos);
    CHECK(refused.error().hint.find("run as root") == 0);
    CHECK(c.cupti.enabled.empty());
    CHECK(c.tracks->rows.empty());
    CHECK(c.tracks->limits.empty());
  }
}

}  // namespace
}  // namespace stallscope
