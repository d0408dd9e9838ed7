#include "collectors/device/cuda/cupti_collector.h"

#include <cuda.h>
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "analyzer/base/thread.h"
#include "collectors/device/cuda/clock_alignment.h"
#include "collectors/device/cuda/driver.h"
#include "collectors/device/cuda/record_sorter.h"
#include "collectors/device/shared_library.h"

namespace stallscope::device::cuda {
namespace {

Result<CuptiLibrary> LoadCupti() {
  const std::string file = fmt::format("libcupti.so.{}", CUDA_VERSION / 1000);
  auto opened = SharedLibrary::Open(LibraryPlaces(file));
  const std::string hint = "install the CUDA toolkit's CUPTI, or set CUDA_HOME to the toolkit";
  if (!opened.ok()) {
    return Error{ErrorKind::kRun, "no CUPTI: " + opened.error().what, "cuda", hint};
  }
  const SharedLibrary& library = opened.value();
  CuptiLibrary cupti;
  cupti.name = library.name();
  const bool whole = library.Bind(cupti.version, "cuptiGetVersion") &&
                     library.Bind(cupti.words, "cuptiGetResultString") &&
                     library.Bind(cupti.now, "cuptiGetTimestamp") &&
                     library.Bind(cupti.call_name, "cuptiGetCallbackName") &&
                     library.Bind(cupti.set_thread_ids, "cuptiSetThreadIdType") &&
                     library.Bind(cupti.set_callbacks, "cuptiActivityRegisterCallbacks") &&
                     library.Bind(cupti.enable, "cuptiActivityEnable") &&
                     library.Bind(cupti.disable, "cuptiActivityDisable") &&
                     library.Bind(cupti.flush, "cuptiActivityFlushAll") &&
                     library.Bind(cupti.next_record, "cuptiActivityGetNextRecord") &&
                     library.Bind(cupti.dropped, "cuptiActivityGetNumDroppedRecords") &&
                     library.Bind(cupti.push, "cuptiActivityPushExternalCorrelationId") &&
                     library.Bind(cupti.pop, "cuptiActivityPopExternalCorrelationId");
  if (!whole) {
    return Error{ErrorKind::kRun,
                 "this is not CUPTI: cuptiActivityEnable or another call is missing",
                 library.name(), hint};
  }
  const CUptiResult asked = cupti.version(&cupti.api);
  // Records only grow at their ends: a newer library's start with the older ones.
  if (asked != CUPTI_SUCCESS || cupti.api < CUPTI_API_VERSION) {
    return Error{ErrorKind::kRun,
                 fmt::format("CUPTI {} is older than the {} that this build knows", cupti.api,
                             CUPTI_API_VERSION),
                 library.name(), hint};
  }
  return cupti;
}

// One buffer's kernels fit easily into a ring of the recorder.
constexpr size_t kBufferBytes = size_t{256} << 10;
constexpr size_t kBufferAlignment = 8;
constexpr auto kFlushEvery = std::chrono::milliseconds(20);

constexpr std::array kKinds = {CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                               CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                               CUPTI_ACTIVITY_KIND_MEMCPY,
                               CUPTI_ACTIVITY_KIND_MEMCPY2,
                               CUPTI_ACTIVITY_KIND_MEMSET,
                               CUPTI_ACTIVITY_KIND_RUNTIME,
                               CUPTI_ACTIVITY_KIND_DRIVER,
                               CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
                               CUPTI_ACTIVITY_KIND_OVERHEAD};

class Collector;

// CUPTI's callbacks take no user argument.
std::mutex current_mutex;
Collector* current = nullptr;
std::weak_ptr<ActivityCollector> shared;

trace::CopyMemory MemoryOf(uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE:
      return trace::CopyMemory::kPageable;
    case CUPTI_ACTIVITY_MEMORY_KIND_PINNED:
      return trace::CopyMemory::kPinned;
    default:
      return trace::CopyMemory::kUnknown;
  }
}

const char* NameOfOverhead(CUpti_ActivityOverheadKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER:
      return "driver compiles";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH:
      return "CUPTI flushes";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION:
      return "CUPTI instruments";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE:
      return "CUPTI takes resources";
    default:
      return "overhead";
  }
}

const char* NameOfWait(CUpti_ActivitySynchronizationType type) {
  switch (type) {
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE:
      return "event synchronize";
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT:
      return "stream wait event";
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE:
      return "stream synchronize";
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE:
      return "context synchronize";
    default:
      return "synchronize";
  }
}

// The record as its own type.
template <class Record>
const Record& As(const CUpti_Activity* record) {
  return *reinterpret_cast<const Record*>(record);
}

// The common start of all records of a device's work.
template <class Record>
DeviceRecord RowOf(const Record& record, DeviceRecord::Kind kind) {
  DeviceRecord row;
  row.kind = kind;
  row.correlation = record.correlationId;
  row.device = record.deviceId;
  row.start_ns = static_cast<int64_t>(record.start);
  row.end_ns = static_cast<int64_t>(record.end);
  return row;
}

class Collector final : public ActivityCollector {
 public:
  Collector(const CuptiLibrary& cupti, std::shared_ptr<DeviceTracks> tracks, double ticks_per_ns)
      : cupti_(cupti),
        tracks_(std::move(tracks)),
        clock_(ticks_per_ns),
        sorter_(*tracks_, work_, clock_) {}
  ~Collector() override;

  Status Start();
  uint64_t Begin(Issued issued) override {
    const uint64_t number = work_.Add(std::move(issued));
    cupti_.push(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, number);
    return number;
  }
  void End() override {
    uint64_t last = 0;
    cupti_.pop(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &last);
  }
  void Take(CUcontext context, uint32_t stream, uint8_t* buffer, size_t bytes);

 private:
  void ReadClocks();
  void Loop();
  void TakeRecord(const CUpti_Activity* record);
  void TakeCopy(const CUpti_ActivityMemcpy5& record);
  void TakeCall(const CUpti_ActivityAPI& record, CUpti_CallbackDomain domain);
  const std::string& NameOfKernel(const char* mangled);
  const std::string& NameOfCall(CUpti_CallbackDomain domain, uint32_t id);

  const CuptiLibrary& cupti_;
  const std::shared_ptr<DeviceTracks> tracks_;
  IssuedWork work_;
  std::vector<CUpti_ActivityKind> enabled_;

  std::mutex mutex_;  // guards what follows
  ClockAlignment clock_;
  RecordSorter sorter_;
  std::unordered_map<std::string, std::string> kernel_names_;
  std::unordered_map<uint64_t, std::string> call_names_;

  std::mutex stop_mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;
  std::atomic<bool> loop_failed_{false};
  ThreadGroup thread_;
};

void CUPTIAPI GiveBuffer(uint8_t** buffer, size_t* bytes, size_t* most_records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(kBufferAlignment, kBufferBytes));
  *bytes = *buffer != nullptr ? kBufferBytes : 0;
  *most_records = 0;  // as many as it holds
}

void CUPTIAPI TakeBuffer(CUcontext context, uint32_t stream, uint8_t* buffer, size_t,
                         size_t valid_bytes) {
  {
    const std::lock_guard<std::mutex> lock(current_mutex);
    if (current != nullptr) current->Take(context, stream, buffer, valid_bytes);
  }
  std::free(buffer);
}

Status Collector::Start() {
  const std::string hint =
      "run as root, or set the driver's option NVreg_RestrictProfilingToAdminUsers=0, and stop "
      "other profilers";
  const auto refused = [&](CUptiResult code, const char* what) {
    return Error{ErrorKind::kRun, fmt::format("CUPTI {}: {}", what, cupti_.Words(code)), "cuda",
                 hint};
  };
  // The operating system's thread ids, as on other tracks.
  cupti_.set_thread_ids(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
  if (const auto code = cupti_.set_callbacks(GiveBuffer, TakeBuffer); code != CUPTI_SUCCESS) {
    return refused(code, "cannot be started");
  }
  ReadClocks();
  {
    const std::lock_guard<std::mutex> lock(current_mutex);
    current = this;
  }
  for (const CUpti_ActivityKind kind : kKinds) {
    if (const auto code = cupti_.enable(kind); code != CUPTI_SUCCESS) {
      return refused(code, "is refused");
    }
    enabled_.push_back(kind);
  }
  // Without it the buffers are read when full, and the clocks compared only at both ends.
  return thread_.Start([this] { Loop(); }, [this](const Error&) { loop_failed_ = true; });
}

Collector::~Collector() {
  {
    const std::lock_guard<std::mutex> lock(stop_mutex_);
    stop_ = true;
  }
  stopped_.notify_one();
  thread_.Join();
  for (const CUpti_ActivityKind kind : enabled_) cupti_.disable(kind);
  const bool worked = enabled_.size() == kKinds.size();
  if (worked) {
    ReadClocks();
    cupti_.flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  }
  {
    const std::lock_guard<std::mutex> lock(current_mutex);
    if (current == this) current = nullptr;
  }
  if (!worked) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  sorter_.Write(true);
  if (sorter_.lost() > 0) {
    tracks_->Warn(fmt::format("CUPTI lost {} records", sorter_.lost()));
  }
  if (loop_failed_) tracks_->Warn("the thread that reads CUPTI's records ran out of memory");
  tracks_->Limit(fmt::format(
      "the device's times are CUPTI's, within {:.1f} us of the run's clock (drift {:.1f} ppm)",
      clock_.ErrorNs() / 1e3, clock_.DriftPpm()));
}

void Collector::ReadClocks() {
  const auto reading = ClockAlignment::Read([this] {
    uint64_t now = 0;
    return cupti_.now(&now) == CUPTI_SUCCESS ? static_cast<int64_t>(now) : int64_t{0};
  });
  const std::lock_guard<std::mutex> lock(mutex_);
  if (reading.device_ns != 0) clock_.Add(reading);
}

void Collector::Loop() {
  std::unique_lock<std::mutex> lock(stop_mutex_);
  while (!stopped_.wait_for(lock, kFlushEvery, [this] { return stop_; })) {
    lock.unlock();
    ReadClocks();
    cupti_.flush(0);
    lock.lock();
  }
}

void Collector::Take(CUcontext context, uint32_t stream, uint8_t* buffer, size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  CUpti_Activity* record = nullptr;
  while (bytes > 0 && cupti_.next_record(buffer, bytes, &record) == CUPTI_SUCCESS) {
    TakeRecord(record);
  }
  size_t dropped = 0;
  if (cupti_.dropped(context, stream, &dropped) == CUPTI_SUCCESS) sorter_.Lose(dropped);
  sorter_.Write(false);
}

const std::string& Collector::NameOfKernel(const char* mangled) {
  const char* const key = mangled != nullptr ? mangled : "";
  const auto known = kernel_names_.find(key);
  if (known != kernel_names_.end()) return known->second;
  return kernel_names_.emplace(key, KernelName(mangled)).first->second;
}

const std::string& Collector::NameOfCall(CUpti_CallbackDomain domain, uint32_t id) {
  std::string& name = call_names_[static_cast<uint64_t>(domain) << 32 | id];
  if (!name.empty()) return name;
  const char* text = nullptr;
  if (cupti_.call_name(domain, id, &text) != CUPTI_SUCCESS || text == nullptr) {
    name = "call";
    return name;
  }
  name = text;
  // "cudaLaunchKernel_v7000"
  if (const size_t version = name.rfind("_v"); version != std::string::npos) name.erase(version);
  return name;
}

void Collector::TakeCopy(const CUpti_ActivityMemcpy5& record) {
  DeviceRecord copy = RowOf(record, DeviceRecord::Kind::kCopy);
  copy.bytes = record.bytes;
  switch (record.copyKind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
      copy.direction = trace::CopyDirection::kHostToDevice;
      copy.memory = MemoryOf(record.srcKind);
      break;
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
      copy.direction = trace::CopyDirection::kDeviceToHost;
      copy.memory = MemoryOf(record.dstKind);
      break;
    default:
      copy.direction = trace::CopyDirection::kDeviceToDevice;
  }
  sorter_.Add(std::move(copy));
}

void Collector::TakeCall(const CUpti_ActivityAPI& record, CUpti_CallbackDomain domain) {
  sorter_.AddSpan(fmt::format("CUDA calls of thread {}", record.threadId), record.threadId,
                  trace::SpanActivity::kRuntime, NameOfCall(domain, record.cbid),
                  static_cast<int64_t>(record.start), static_cast<int64_t>(record.end));
}

void Collector::TakeRecord(const CUpti_Activity* record) {
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
      const auto& link = As<CUpti_ActivityExternalCorrelation>(record);
      return sorter_.Link(link.correlationId, link.externalId);
    }
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto& kernel = As<CUpti_ActivityKernel9>(record);
      DeviceRecord row = RowOf(kernel, DeviceRecord::Kind::kKernel);
      row.name = NameOfKernel(kernel.name);
      return sorter_.Add(std::move(row));
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return TakeCopy(As<CUpti_ActivityMemcpy5>(record));
    case CUPTI_ACTIVITY_KIND_MEMCPY2: {
      DeviceRecord copy = RowOf(As<CUpti_ActivityMemcpyPtoP4>(record), DeviceRecord::Kind::kCopy);
      copy.bytes = As<CUpti_ActivityMemcpyPtoP4>(record).bytes;
      copy.direction = trace::CopyDirection::kDeviceToDevice;
      return sorter_.Add(std::move(copy));
    }
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return sorter_.Add(RowOf(As<CUpti_ActivityMemset4>(record), DeviceRecord::Kind::kMemset));
    case CUPTI_ACTIVITY_KIND_RUNTIME:
      return TakeCall(As<CUpti_ActivityAPI>(record), CUPTI_CB_DOMAIN_RUNTIME_API);
    case CUPTI_ACTIVITY_KIND_DRIVER:
      return TakeCall(As<CUpti_ActivityAPI>(record), CUPTI_CB_DOMAIN_DRIVER_API);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: {
      const auto& wait = As<CUpti_ActivitySynchronization>(record);
      return sorter_.AddSpan("CUDA synchronization", 0, trace::SpanActivity::kRuntime,
                             NameOfWait(wait.type), static_cast<int64_t>(wait.start),
                             static_cast<int64_t>(wait.end));
    }
    case CUPTI_ACTIVITY_KIND_OVERHEAD: {
      const auto& overhead = As<CUpti_ActivityOverhead>(record);
      return sorter_.AddSpan(
          "CUPTI overhead", 0, trace::SpanActivity::kRuntime, NameOfOverhead(overhead.overheadKind),
          static_cast<int64_t>(overhead.start), static_cast<int64_t>(overhead.end));
    }
    default:
      return;
  }
}

}  // namespace

Result<const CuptiLibrary*> CuptiLibrary::Find() {
  static const Result<CuptiLibrary> library = LoadCupti();
  if (!library.ok()) return library.error();
  return &library.value();
}

std::string CuptiLibrary::Words(CUptiResult code) const {
  const char* text = nullptr;
  if (words(code, &text) != CUPTI_SUCCESS || text == nullptr) {
    return fmt::format("code {}", static_cast<int>(code));
  }
  return text;
}

Result<std::shared_ptr<ActivityCollector>> StartCollector(
    const CuptiLibrary& cupti, const std::shared_ptr<DeviceTracks>& tracks, double ticks_per_ns) {
  auto collector = std::make_shared<Collector>(cupti, tracks, ticks_per_ns);
  STALLSCOPE_RETURN_IF_ERROR(collector->Start());
  return std::shared_ptr<ActivityCollector>(std::move(collector));
}

Result<std::shared_ptr<ActivityCollector>> ActivityCollector::Join(
    const std::shared_ptr<DeviceTracks>& tracks, double ticks_per_ns) {
  static std::mutex joining;
  const std::lock_guard<std::mutex> lock(joining);
  if (auto there = shared.lock()) return there;
  const char* const wanted = std::getenv("STALLSCOPE_CUPTI");
  if (wanted != nullptr && std::strcmp(wanted, "off") == 0) {
    return Error{ErrorKind::kRun, "CUPTI is disabled", "STALLSCOPE_CUPTI", "unset it"};
  }
  STALLSCOPE_ASSIGN_OR_RETURN(const CuptiLibrary* const cupti, CuptiLibrary::Find());
  STALLSCOPE_ASSIGN_OR_RETURN(auto collector, StartCollector(*cupti, tracks, ticks_per_ns));
  shared = collector;
  return collector;
}

Result<std::string> ActivityCollector::Look() {
  STALLSCOPE_ASSIGN_OR_RETURN(const CuptiLibrary* const cupti, CuptiLibrary::Find());
  return fmt::format("{}, version {}", cupti->name, cupti->api);
}

}  // namespace stallscope::device::cuda
