#include <doctest/doctest.h>

#include <string>

#include "collectors/recorder/recorder.h"
#include "tests/collectors/recorder/recorded_trace.h"
#include "tests/support/faults.h"
#include "tests/support/paths.h"

using namespace stallscope;            // NOLINT(google-build-using-namespace)
using namespace stallscope::recorder;  // NOLINT(google-build-using-namespace)
using test::FaultyDisk;
using test::ReadTrace;
using test::ScratchDir;
using test::Touch;

namespace {

Options Manual(FaultyDisk& disk) {
  Options options;
  options.ring_slots = 64;
  options.look_interval_ns = options.flush_interval_ns = 3'600'000'000'000;
  options.ops = &disk;
  return options;
}

// Ten flushes of ten events each on a disk that fails in one way at one write.
Summary Record(const std::string& path, FaultyDisk& disk) {
  auto started = Recorder::Start(path, {}, Manual(disk));
  if (!started.ok()) return {};
  auto recorder = std::move(started).value();
  const auto track = recorder->NewTrack({});
  for (uint64_t flush = 0; flush < 10; ++flush) {
    for (uint64_t i = 0; i < 10; ++i) {
      Touch(*track, ItemId{flush * 10 + i});
    }
    (void)recorder->Flush();
  }
  return recorder->Stop();
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a full or broken disk costs the frame of that moment, whichever it is") {
    FaultyDisk counting(FaultyDisk::Fault::kNone, 0);
    ScratchDir dir;
    CHECK(Record(dir / "r.sst", counting).stored == 100);
    for (int error : {ENOSPC, EIO}) {
      // Writes 0 and 1 are the header and the first definitions: without them there is no
      // recording.
      for (int n = 2; n < counting.writes(); ++n) {
        FaultyDisk disk(FaultyDisk::Fault::kError, n, 1, error);
        const Summary summary = Record(dir / "r.sst", disk);
        CAPTURE(n);
        CHECK(summary.emitted == 100);
        CHECK(summary.stored + summary.dropped == 100);
        CHECK(summary.stored >= 90);
        CHECK_FALSE(summary.first_error.empty());
        const auto trace = ReadTrace(dir / "r.sst");
        CHECK(trace.SpanCount() == summary.stored);
        CHECK(trace.DroppedInGaps() == summary.dropped);
        CHECK(trace.damage.bytes == 0);
      }
    }
  }

  TEST_CASE("short and interrupted writes cost nothing, whichever they are") {
    FaultyDisk counting(FaultyDisk::Fault::kNone, 0);
    ScratchDir dir;
    Record(dir / "r.sst", counting);
    for (auto fault : {FaultyDisk::Fault::kShort, FaultyDisk::Fault::kInterrupted}) {
      for (int n = 0; n < counting.writes(); ++n) {
        FaultyDisk disk(fault, n);
        const Summary summary = Record(dir / "r.sst", disk);
        CAPTURE(n);
        CHECK(summary.stored == 100);
        CHECK(summary.first_error.empty());
        CHECK(ReadTrace(dir / "r.sst").sealed);
      }
    }
  }

  TEST_CASE("a disk that fills up keeps what came before") {
    for (int n = 2; n < 12; ++n) {
      ScratchDir dir;
      FaultyDisk disk(FaultyDisk::Fault::kError, n, 1'000'000, ENOSPC);
      const Summary summary = Record(dir / "r.sst", disk);
      CHECK(summary.emitted == 100);
      CHECK(summary.dropped == 100 - summary.stored);
      CHECK(summary.first_error.find("No space left on device") != std::string::npos);
      const auto trace = ReadTrace(dir / "r.sst");
      CHECK(trace.SpanCount() == summary.stored);
      CHECK_FALSE(trace.sealed);
      CHECK(trace.damage.bytes == 0);
    }
  }

  TEST_CASE("a disk that is full from the start refuses the recording") {
    for (int n = 0; n < 2; ++n) {
      ScratchDir dir;
      FaultyDisk disk(FaultyDisk::Fault::kError, n, 1'000'000, ENOSPC);
      const auto started = Recorder::Start(dir / "r.sst", {}, Manual(disk));
      REQUIRE_FALSE(started.ok());
      CHECK(started.error().kind == ErrorKind::kRun);
    }
  }
}
