// Recordings whose threads cannot be had, or run out of memory.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "analyzer/base/thread.h"
#include "analyzer/spec/spec_json.h"
#include "analyzer/trace/reader.h"
#include "collectors/capture/capture.h"
#include "tests/support/allocation_fault.h"
#include "tests/support/paths.h"

using namespace stallscope;

namespace {

// Every kind of thread that a recording has: flusher, readers, workers, prefetch, tuner, feed, the
// streams of two replicas, sampler, the watch for a stop.
Spec AllThreads() {
  return ReadSpec(R"~({"stages": [
      {"name": "read", "source": {"format": "synthetic", "elements": 160, "bytes": 192,
                                  "parallelism": 2}},
      {"name": "norm", "map": {"ops": ["cast(float32)"], "parallelism": "auto"}},
      {"name": "batch", "batch": {"size": 8}},
      {"name": "prefetch", "prefetch": {"buffer_size": 2}}],
    "transfer": {"prefetch_to_device": 1},
    "trainer": {"device": "host", "steps": 0, "model": {"kind": "mlp"},
                "strategy": {"kind": "mirrored", "replicas": 2}}})~",
                  "test")
      .value();
}

Result<capture::CaptureResult> Record(const std::string& output) {
  capture::CaptureOptions options;
  options.output = output;
  return capture::Capture(AllThreads(), options);
}

// Nothing is left, or a trace that can be read.
void CheckTrace(const std::string& path) {
  if (!std::filesystem::exists(path)) return;
  CHECK(trace::TraceReader::Open(path).ok());
  std::filesystem::remove(path);
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a recording whose n-th thread cannot start is an error, for every n") {
    test::ScratchDir dir;
    uint64_t starts = 0;
    {
      const ThreadStartFault count(0);
      const auto whole = Record(dir / "r.sst");
      REQUIRE_MESSAGE(whole.ok(), (whole.ok() ? "" : whole.error().Line()));
      CHECK(whole.value().training.last.steps == 20);
      starts = count.starts();
    }
    CHECK(starts >= 11);
    for (uint64_t n = 1; n <= starts; ++n) {
      const ThreadStartFault fault(n);
      const auto run = Record(dir / "n.sst");
      if (run.ok() && fault.starts() < n) continue;  // the tuner wanted fewer this time
      REQUIRE_FALSE(run.ok());
      CHECK(run.error().kind == ErrorKind::kRun);
      const std::string line = run.error().Line();
      CHECK_MESSAGE(line.find("cannot start another thread") != std::string::npos, line);
      CHECK_MESSAGE(line.find("ulimit -u") != std::string::npos, line);
      CheckTrace(dir / "n.sst");
    }
  }

  TEST_CASE("a recording whose threads run out of memory ends with an error") {
    test::ScratchDir dir;
    int failed = 0;
    for (int64_t first = 1; first < 4'000; first += first < 60 ? 1 : 1 + first / 16) {
      Result<capture::CaptureResult> run = Error{};
      {
        const test::AllocationFault fault(first);
        run = Record(dir / "n.sst");
      }
      if (!run.ok()) {
        ++failed;
        CHECK(run.error().kind == ErrorKind::kRun);
        CHECK_MESSAGE(run.error().Line().find("memory") != std::string::npos, run.error().Line());
      }
      CheckTrace(dir / "n.sst");
    }
    CHECK(failed > 60);
  }
}
