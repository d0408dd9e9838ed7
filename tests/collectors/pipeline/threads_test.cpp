// Pipelines whose threads cannot be had, run out of memory, or are parked.
#include <doctest/doctest.h>
#include <zlib.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "analyzer/base/file.h"
#include "analyzer/base/thread.h"
#include "analyzer/spec/spec_json.h"
#include "collectors/data/tfrecord.h"
#include "collectors/pipeline/source_stage.h"
#include "tests/collectors/pipeline/pipeline_runs.h"
#include "tests/support/allocation_fault.h"
#include "tests/support/paths.h"

// HDF5 leaks its copies of texts when an allocation fails while it describes an error.
extern "C" const char* __lsan_default_suppressions() { return "leak:H5MM_xstrdup"; }

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

// Two readers that only read, and what their elements need to become batches.
std::string Readers(const std::string& format, const std::string& glob, const std::string& ops) {
  return R"~({"name": "read", "source": {"format": ")~" + format + R"~(", "files": [")~" + glob +
         R"~("], "cycle_length": 3, "parallelism": 2}},
           {"name": "work", "map": {"ops": [)~" +
         ops + R"~(]}}, {"name": "batch", "batch": {"size": 4}})~";
}

// Each file of the folder, packed with gzip in its place; a pattern for all of them.
std::string Packed(const std::string& folder) {
  std::filesystem::remove(folder + "/manifest.json");
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string path = entry.path().string();
    const std::string text = ReadWholeFile(path, uint64_t{1} << 30).value();
    const gzFile file = gzopen(path.c_str(), "wb");
    REQUIRE(gzwrite(file, text.data(), static_cast<unsigned>(text.size())) ==
            static_cast<int>(text.size()));
    REQUIRE(gzclose(file) == Z_OK);
  }
  return folder + "/*";
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
          const test::AllocationFault fault(first);
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

  TEST_CASE("readers of gzip and HDF5 that run out of memory end the pipeline, wherever they do") {
    ScratchDir dir;
    MakeData(dir / "records", data::DataFormat::kTfRecord);
    MakeData(dir / "rows", data::DataFormat::kCsv, 24, 3, 8, 6);
    const std::string arrays = MakeData(dir / "arrays", data::DataFormat::kHdf5);
    for (const std::string& stages :
         {Readers("tfrecord", Packed(dir / "records"), R"~("decode_jpeg", "resize(8)")~"),
          Readers("csv", Packed(dir / "rows"), R"("decode_csv")"),
          Readers("hdf5", arrays, R"~("busy(0)")~")}) {
      CAPTURE(stages);
      const Delivered whole = RunStages(stages);
      REQUIRE_MESSAGE(ErrorLine(whole).empty(), ErrorLine(whole));
      REQUIRE(whole.ids.size() == 24);
      int failed = 0;
      for (int64_t first = 1; first < 600; first += first < 120 ? 1 : 17) {
        CAPTURE(first);
        Delivered run;
        {
          const test::AllocationFault fault(first);
          run = RunStages(stages);
        }
        if (!run.error.has_value()) {
          CHECK(run.digest == whole.digest);
          continue;
        }
        ++failed;
        CHECK(run.error->kind == ErrorKind::kRun);
        CHECK_MESSAGE(ErrorLine(run).find("memory") != std::string::npos, ErrorLine(run));
      }
      CHECK(failed > 60);
    }
  }

  TEST_CASE("a reader that runs out of memory while HDF5 reports an error ends the pipeline too") {
    ScratchDir dir;
    const std::string arrays = MakeData(dir / "arrays", data::DataFormat::kHdf5);
    std::filesystem::remove(dir / "arrays/manifest.json");
    for (const auto& entry : std::filesystem::directory_iterator(dir / "arrays")) {
      std::filesystem::resize_file(entry.path(), entry.file_size() / 2);
    }
    const std::string stages = Readers("hdf5", arrays, R"~("busy(0)")~");
    int untold = 0;
    for (int64_t first = 1; first < 200; ++first) {
      CAPTURE(first);
      Delivered run;
      {
        const test::AllocationFault fault(first);
        run = RunStages(stages);
      }
      REQUIRE(run.error.has_value());
      CHECK(run.error->kind == ErrorKind::kRun);
      const bool told = ErrorLine(run).find("cannot read the HDF5 file: ") != std::string::npos;
      untold += told ? 0 : 1;
      CHECK_MESSAGE((told || ErrorLine(run).find("memory") != std::string::npos), ErrorLine(run));
    }
    CHECK(untold > 0);
  }

  TEST_CASE("parked readers do not get the notifications meant for active ones") {
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
