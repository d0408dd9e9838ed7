// Pipelines whose threads cannot be had, run out of memory, or are parked.
#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <thread>

#include "analyzer/base/file.h"
#include "analyzer/base/thread.h"
#include "analyzer/spec/spec_json.h"
#include "collectors/data/tfrecord.h"
#include "collectors/pipeline/source_stage.h"
#include "tests/collectors/pipeline/pipeline_runs.h"
#include "tests/support/paths.h"

namespace {

// The program's own allocator: of the threads that the test did not start itself, each allocation
// from the `first_to_fail`-th on fails.
std::atomic<int64_t> first_to_fail{0};  // 0: none
std::atomic<int64_t> asked{0};
thread_local bool of_the_test = false;

void* Allocate(size_t size) {
  const int64_t first = first_to_fail.load(std::memory_order_relaxed);
  if (first != 0 && !of_the_test && asked.fetch_add(1) + 1 >= first) return nullptr;
  return std::malloc(size > 0 ? size : 1);
}

class AllocationFault {
 public:
  explicit AllocationFault(int64_t first) {
    of_the_test = true;
    asked = 0;
    first_to_fail = first;
  }
  ~AllocationFault() { first_to_fail = 0; }
};

}  // namespace

void* operator new(size_t size) {
  if (void* const memory = Allocate(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

using namespace stallscope;
using test::Delivered;
using test::MakeData;
using test::RunStages;
using test::ScratchDir;

namespace {

// Threads of every kind that a pipeline has: readers, workers, prefetch, the tuner.
std::string AllThreads(const std::string& glob, bool ordered) {
  const std::string order = ordered ? "" : R"~(, "deterministic": false)~";
  return R"~({"name": "read", "source": {"format": "tfrecord", "files": [")~" + glob +
         R"~("], "cycle_length": 3, "parallelism": 2)~" + order +
         R"~(}}, {"name": "decode", "map": {"ops": ["decode_jpeg", "resize(8)"],
             "parallelism": 2)~" +
         order + R"~(}}, {"name": "norm", "map": {"ops": ["cast(float32)"], "parallelism": "auto"}},
           {"name": "batch", "batch": {"size": 4, "parallelism": 2}},
           {"name": "prefetch", "prefetch": {"buffer_size": 2}})~";
}

std::string ErrorLine(const Delivered& run) {
  return run.error.has_value() ? run.error->Line() : "";
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a pipeline whose n-th thread cannot be started is an error, for every n") {
    ScratchDir dir;
    const std::string stages = AllThreads(MakeData(dir / "d", data::DataFormat::kTfRecord), true);
    uint64_t starts = 0;
    {
      const ThreadStartFault count(0);
      const Delivered whole = RunStages(stages);
      CHECK(ErrorLine(whole).empty());
      CHECK(whole.ids.size() == 24);
      starts = count.starts();
    }
    CHECK(starts >= 2 + 2 + 1 + 2 + 1 + 1);
    for (uint64_t n = 1; n <= starts; ++n) {
      const ThreadStartFault fault(n);
      const Delivered run = RunStages(stages);
      // The tuner's own threads come later, if at all: a run that ended before has all it needs.
      if (!run.error.has_value() && fault.starts() < n) continue;
      REQUIRE(run.error.has_value());
      CHECK(run.error->kind == ErrorKind::kRun);
      CHECK(ErrorLine(run).find(": cannot start another thread") != std::string::npos);
      CHECK(ErrorLine(run).find("ulimit -u") != std::string::npos);
      CHECK(run.ids.empty());
    }
  }

  TEST_CASE("a worker that runs out of memory ends the pipeline, at whichever allocation") {
    ScratchDir dir;
    const std::string glob = MakeData(dir / "d", data::DataFormat::kTfRecord);
    for (const bool ordered : {true, false}) {
      const std::string stages = AllThreads(glob, ordered);
      int failed = 0;
      for (int64_t first = 1; first < 600; first += first < 60 ? 1 : 17) {
        Delivered run;
        {
          const AllocationFault fault(first);
          run = RunStages(stages);
        }
        if (!run.error.has_value()) {
          CHECK(run.ids.size() == 24);
          continue;
        }
        ++failed;
        CHECK(run.error->kind == ErrorKind::kRun);
        // The decoder's and the readers' own words for it are as good.
        CHECK_MESSAGE(ErrorLine(run).find("memory") != std::string::npos, ErrorLine(run));
      }
      CHECK(failed > 60);
    }
  }

  TEST_CASE("readers that are parked do not get the calls for those that read") {
    ScratchDir dir;
    constexpr int64_t kRecords = 20'000;
    const std::string path = dir / "many.tfrecord";
    {
      auto writer = data::TfRecordWriter::Create(path);
      for (int64_t i = 0; i < kRecords; ++i) {
        REQUIRE(writer.value().Write(data::AsBytes(std::to_string(i))).ok());
      }
      REQUIRE(writer.value().Finish().ok());
    }
    pipeline::StageContext context;
    context.batches = std::make_unique<pipeline::TensorPool>();
    auto shared = std::make_shared<pipeline::ReaderShared>();
    shared->spec.format = SourceFormat::kTfrecord;
    shared->spec.files = {path};
    shared->spec.cycle_length = {1, false};
    shared->spec.parallelism = {8, false};
    shared->spec.deterministic = true;
    shared->files = pipeline::FindFiles(shared->spec).value();
    shared->context = &context;
    pipeline::ParallelSource source(shared, {"read", {}, {}});
    // Only a run that hangs gets so far: then the source is told to end, and gives an error.
    std::atomic<bool> done{false};
    std::thread watch([&] {
      for (int i = 0; i < 600 && !done; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      if (!done) context.token.Cancel();
    });
    int64_t read = 0;
    std::optional<Error> error;
    for (;;) {
      if (read % 1000 == 0) source.SetParallelism(read % 2000 == 0 ? 8 : 1);
      auto next = source.Next();
      if (!next.ok()) error = next.error();
      if (!next.ok() || !next.value().has_value()) break;
      context.Recycle(std::move(*next.value()));
      if (read == 0) source.SetParallelism(1);
      ++read;
    }
    done = true;
    watch.join();
    CHECK_FALSE(error.has_value());
    CHECK(read == kRecords);
  }
}
