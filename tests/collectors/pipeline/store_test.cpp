// Caches and snapshots.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "analyzer/base/file.h"
#include "analyzer/spec/spec_json.h"
#include "collectors/pipeline/element_codec.h"
#include "tests/collectors/pipeline/pipeline_runs.h"
#include "tests/support/child.h"
#include "tests/support/paths.h"

using namespace stallscope;
using test::Delivered;
using test::MakeData;
using test::RunStages;
using test::ScratchDir;

namespace {

std::string Stages(const std::string& glob, const std::string& store) {
  return R"({"name": "read", "source": {"format": "tfrecord", "files": [")" + glob +
         R"~("]}}, {"name": "decode", "map": {"ops": ["decode_jpeg", "resize(16)"]}})~" + store +
         R"(, {"name": "augment", "map": {"ops": ["flip"]}}, {"name": "batch", "batch": {"size": 8}},
            {"name": "again", "repeat": {"count": 3}})";
}

size_t FilesIn(const std::string& folder) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) ++count;
  }
  return count;
}

std::string CacheAt(const std::string& path) {
  return R"(, {"name": "cache", "cache": {"where": "disk", "path": ")" + path + "\"}}";
}

std::string WithOtherOps(std::string stages) {
  return stages.replace(stages.find("resize(16)"), 10, "resize(17)");
}

std::string ContentOf(const std::string& path) { return ReadWholeFile(path, 1 << 24).value(); }

// Pulled batch by batch, so that two can be under way at once.
class StepwiseRun {
 public:
  explicit StepwiseRun(const std::string& stages) {
    auto spec = ReadSpec("{\"stages\": [" + stages + "]}", "test");
    REQUIRE(spec.ok());
    auto built = pipeline::Pipeline::Build(spec.value(), {.digest = true});
    REQUIRE_MESSAGE(built.ok(), built.error().Line());
    pipeline_ = std::move(built).value();
  }
  // False at the end.
  Result<bool> TryStep() {
    STALLSCOPE_ASSIGN_OR_RETURN(const auto next, pipeline_->Next());
    return next.has_value();
  }
  bool Step() {
    const auto more = TryStep();
    REQUIRE_MESSAGE(more.ok(), more.error().Line());
    return more.value();
  }
  std::string digest() const { return pipeline_->Digest(); }

 private:
  std::unique_ptr<pipeline::Pipeline> pipeline_;
};

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a cache changes nothing of what comes, in memory or on disk, and reads once") {
    ScratchDir dir;
    const std::string glob = MakeData(dir / "d", data::DataFormat::kTfRecord);
    const Delivered plain = RunStages(Stages(glob, ""));
    CHECK(plain.stats.elements == 72);
    for (const std::string& cache :
         {std::string(R"("where": "memory")"), std::string(R"("where": "disk")"),
          R"("where": "disk", "path": ")" + (dir / "c/cache") + "\""}) {
      CAPTURE(cache);
      const Delivered cached =
          RunStages(Stages(glob, R"(, {"name": "cache", "cache": {)" + cache + "}}"));
      REQUIRE(!cached.error.has_value());
      CHECK(cached.digest == plain.digest);
      CHECK(cached.Ids() == plain.Ids());
      CHECK(cached.stats.elements == 24);
    }
    // Batches can be kept too.
    const Delivered batches = RunStages(
        R"({"name": "read", "source": {"format": "synthetic", "elements": 10, "bytes": 3}},
           {"name": "batch", "batch": {"size": 4}}, {"name": "cache", "cache": {"where": "disk"}},
           {"name": "again", "repeat": {"count": 2}})");
    CHECK(batches.shapes == std::vector<std::string>{"4x3", "4x3", "2x3", "4x3", "4x3", "2x3"});
    CHECK(batches.ids.back().epoch == 1);
  }

  TEST_CASE("a cache that is full says what to do") {
    ScratchDir dir;
    const std::string glob = MakeData(dir / "d", data::DataFormat::kTfRecord);
    const Delivered full =
        RunStages(Stages(glob, R"(, {"name": "cache", "cache": {"max_bytes": 4000}})"));
    REQUIRE(full.error.has_value());
    CHECK(full.error->kind == ErrorKind::kRun);
    CHECK(full.error->Line() ==
          "the cache 'cache' is full: its 4000 bytes hold 4 elements, and there are more; raise "
          "max_bytes, cache smaller elements, or cache on disk");
    CHECK(!RunStages(Stages(glob, R"(, {"name": "cache", "cache": {"max_bytes": 40000}})"))
               .error.has_value());
  }

  TEST_CASE("a snapshot is written once, read in later runs, and belongs to its prefix and data") {
    ScratchDir dir;
    const std::string glob = MakeData(dir / "d", data::DataFormat::kTfRecord);
    const std::string store = R"(, {"name": "keep", "snapshot": {"path": ")" + (dir / "s") + "\"}}";
    const Delivered plain = RunStages(Stages(glob, ""));
    const Delivered writing = RunStages(Stages(glob, store));
    CHECK(writing.digest == plain.digest);
    CHECK(writing.stats.elements == 24);
    CHECK(FilesIn(dir / "s") == 1);
    const Delivered reading = RunStages(Stages(glob, store));
    CHECK(reading.digest == plain.digest);
    CHECK(reading.stats.elements == 0);
    // Knobs of speed do not matter, ops do.
    std::string faster = Stages(glob, store);
    faster.replace(faster.find(R"~("resize(16)"])~"), 13, R"~("resize(16)"], "parallelism": 2)~");
    CHECK(RunStages(faster).stats.elements == 0);
    std::string other = Stages(glob, store);
    other.replace(other.find("resize(16)"), 10, "resize(17)");
    CHECK(RunStages(other).stats.elements == 24);
    CHECK(FilesIn(dir / "s") == 2);
    // Other data under the same names.
    std::filesystem::remove_all(dir / "d");
    MakeData(dir / "d", data::DataFormat::kTfRecord, 25);
    CHECK(RunStages(Stages(glob, store)).stats.elements == 25);
  }

  TEST_CASE("a stored batch without a row for each sample is refused") {
    pipeline::StageContext context;
    context.batches = std::make_unique<pipeline::TensorPool>();
    const auto stored = [&](const data::Shape& shape, const data::Shape& one_hot) {
      pipeline::Element batch;
      batch.value.Reset(data::DType::kUint8, shape);
      batch.one_hot.Reset(data::DType::kFloat32, one_hot);
      std::fill_n(batch.one_hot.data(), batch.one_hot.bytes(), uint8_t{0});
      std::fill_n(batch.value.data(), batch.value.bytes(), uint8_t{1});
      batch.batch = std::make_unique<pipeline::BatchMembers>();
      batch.batch->ids.resize(2);
      batch.batch->labels = {4, 5};
      data::Buffer bytes;
      pipeline::EncodeElement(batch, bytes);
      return pipeline::DecodeElement(bytes, context).ok();
    };
    CHECK(stored({2, 3}, {0}));
    CHECK(stored({2}, {2, 3}));
    CHECK_FALSE(stored({3, 2}, {0}));
    CHECK_FALSE(stored({}, {0}));
    CHECK_FALSE(stored({2, 3}, {1, 3}));
  }

  TEST_CASE("a stored element keeps its other parts, of as many samples") {
    pipeline::StageContext context;
    context.batches = std::make_unique<pipeline::TensorPool>();
    const auto batch_of = [](size_t samples) {
      pipeline::Element batch;
      batch.value.Reset(data::DType::kUint8, {static_cast<int64_t>(samples), 3});
      std::fill_n(batch.value.data(), batch.value.bytes(), static_cast<uint8_t>(samples));
      batch.batch = std::make_unique<pipeline::BatchMembers>();
      batch.batch->ids.resize(samples);
      batch.batch->labels.assign(samples, 7);
      return batch;
    };
    const auto stored = [&](std::vector<size_t> others, bool batched) {
      pipeline::Element element = batch_of(2);
      for (const size_t samples : others) element.others.push_back(batch_of(samples));
      if (!batched) element.others.back().batch.reset();
      data::Buffer bytes;
      pipeline::EncodeElement(element, bytes);
      return pipeline::DecodeElement(bytes, context);
    };
    const auto pair = stored({2, 2}, true);
    REQUIRE(pair.ok());
    REQUIRE(pair.value().others.size() == 2);
    CHECK(pair.value().others[1].value.shape().ToString() == "2x3");
    CHECK(pair.value().others[1].batch->labels == std::vector<int64_t>{7, 7});
    CHECK(stored({}, true).value().others.empty());
    CHECK_FALSE(stored({2, 1}, true).ok());
    CHECK_FALSE(stored({2}, false).ok());
  }

  TEST_CASE("a run that ends early leaves no snapshot, and a damaged one is an error") {
    ScratchDir dir;
    const std::string glob = MakeData(dir / "d", data::DataFormat::kTfRecord);
    const std::string stages =
        Stages(glob, R"(, {"name": "keep", "snapshot": {"path": ")" + (dir / "s") + "\"}}");
    CHECK(RunStages(stages, "", 1).shapes.size() == 1);
    CHECK(FilesIn(dir / "s") == 0);
    CHECK(RunStages(stages).stats.elements == 24);
    for (const auto& entry : std::filesystem::directory_iterator(dir / "s")) {
      std::string content = ReadWholeFile(entry.path(), 1 << 24).value();
      content[content.size() / 2] ^= 1;
      REQUIRE(WriteFileAtomically(entry.path(), content).ok());
    }
    const Delivered damaged = RunStages(stages);
    REQUIRE(damaged.error.has_value());
    CHECK(damaged.error->Line().find(".elements") != std::string::npos);
  }

  TEST_CASE("a file that is not a store is never overwritten") {
    ScratchDir dir;
    const std::string glob = MakeData(dir / "d", data::DataFormat::kTfRecord);
    const std::string path = dir / "mine";
    const auto refused = [&] {
      const Delivered run = RunStages(Stages(glob, CacheAt(path)));
      return run.error.has_value() && run.error->kind == ErrorKind::kUsage &&
             run.error->where == path && run.error->hint.find("cache.path") != std::string::npos;
    };
    for (const std::string& content :
         {std::string("years of work"), std::string(), std::string("stallscope elements 1\nkey"),
          ContentOf(dir / "d/data-00000-of-00003.tfrecord")}) {
      REQUIRE(WriteFileAtomically(path, content).ok());
      CHECK(refused());
      CHECK(ContentOf(path) == content);
    }
    std::filesystem::remove(path);
    std::filesystem::create_directory(path);
    CHECK(refused());
    std::filesystem::remove(path);
    REQUIRE(mkfifo(path.c_str(), 0600) == 0);
    CHECK(refused());
    std::filesystem::remove(path);
    std::filesystem::create_symlink("/dev/null", path);
    CHECK(refused());
    std::filesystem::remove(path);
    // A file that appears while the elements are collected is left alone too.
    {
      StepwiseRun run(Stages(glob, CacheAt(path)));
      CHECK(run.Step());
      REQUIRE(WriteFileAtomically(path, "years of work").ok());
      Result<bool> more = true;
      while (more.ok() && more.value()) more = run.TryStep();
      REQUIRE_FALSE(more.ok());
      CHECK(more.error().kind == ErrorKind::kUsage);
    }
    CHECK(ContentOf(path) == "years of work");
    std::filesystem::remove(path);
    // What only has a similar name is nobody's business.
    REQUIRE(WriteFileAtomically(path + ".partial", "years of work").ok());
    CHECK_FALSE(RunStages(Stages(glob, CacheAt(path))).error.has_value());
    CHECK_FALSE(RunStages(WithOtherOps(Stages(glob, CacheAt(path)))).error.has_value());
    CHECK(ContentOf(path + ".partial") == "years of work");
  }

  TEST_CASE("an older store is replaced only by one that is whole, and keeps its mode") {
    ScratchDir dir;
    const std::string glob = MakeData(dir / "d", data::DataFormat::kTfRecord);
    const std::string stages = Stages(glob, CacheAt(dir / "cache"));
    CHECK(RunStages(stages).stats.elements == 24);
    REQUIRE(chmod((dir / "cache").c_str(), 0640) == 0);
    const std::string before = ContentOf(dir / "cache");
    CHECK(RunStages(WithOtherOps(stages), "", 1).shapes.size() == 1);
    CHECK(ContentOf(dir / "cache") == before);
    CHECK(RunStages(stages).stats.elements == 0);
    CHECK(RunStages(WithOtherOps(stages)).stats.elements == 24);
    CHECK(ContentOf(dir / "cache") != before);
    struct stat about {};
    REQUIRE(stat((dir / "cache").c_str(), &about) == 0);
    CHECK((about.st_mode & 07777) == 0640);
    CHECK(FilesIn(dir.path()) == 5);  // the data set's four, and the cache
  }

  TEST_CASE("two runs fill one cache at once, and each gives what it gives alone") {
    ScratchDir dir;
    const std::string glob = MakeData(dir / "d", data::DataFormat::kTfRecord);
    const std::string one = RunStages(Stages(glob, "")).digest;
    const std::string other = RunStages(WithOtherOps(Stages(glob, ""))).digest;
    REQUIRE(one != other);
    const std::string stages = Stages(glob, CacheAt(dir / "cache"));
    for (const std::string& second : {stages, WithOtherOps(stages)}) {
      StepwiseRun a(stages);
      StepwiseRun b(second);
      for (bool more = true; more;) {
        more = a.Step();
        if (b.Step()) more = true;
      }
      CHECK(a.digest() == one);
      CHECK(b.digest() == (second == stages ? one : other));
      // The last one sealed has the name.
      CHECK(RunStages(second).stats.elements == 0);
      std::filesystem::remove(dir / "cache");
    }
  }

  TEST_CASE("a cache without a path is closed to others, and goes also after a kill") {
    ScratchDir dir;
    ScratchDir temporary;
    setenv("TMPDIR", temporary.path().c_str(), 1);
    const std::string glob = MakeData(dir / "d", data::DataFormat::kTfRecord);
    const std::string stages = Stages(glob, R"(, {"name": "cache", "cache": {"where": "disk"}})");
    const auto killed = test::RunInChild([&] {
      StepwiseRun run(stages);
      for (int i = 0; i < 5; ++i) run.Step();
      raise(SIGKILL);
    });
    CHECK(killed.signal == SIGKILL);
    const auto folder = std::filesystem::directory_iterator(temporary.path())->path();
    struct stat about {};
    REQUIRE(stat(folder.c_str(), &about) == 0);
    CHECK((about.st_mode & 07777) == 0700);
    CHECK_FALSE(RunStages(stages).error.has_value());
    CHECK(std::filesystem::is_empty(temporary.path()));
    unsetenv("TMPDIR");
  }

  TEST_CASE("with a folder for stores nothing is made or changed where the spec says") {
    ScratchDir dir;
    const std::string glob = MakeData(dir / "d", data::DataFormat::kTfRecord);
    const auto run = [&](const std::string& stages, const std::string& stores) {
      std::filesystem::create_directory(stores);
      const Delivered done = RunStages(stages, "", 1'000'000, nullptr, stores);
      REQUIRE_MESSAGE(!done.error.has_value(), done.error->Line());
      return done.stats.elements;
    };
    const std::string snapshot =
        Stages(glob, R"(, {"name": "keep", "snapshot": {"path": ")" + (dir / "s") + "\"}}");
    CHECK(run(snapshot, dir / "one") == 24);
    CHECK_FALSE(std::filesystem::exists(dir / "s"));
    CHECK(FilesIn(dir / "one") == 1);
    CHECK(run(snapshot, dir / "one") == 0);  // what the first one has stored
    CHECK(run(WithOtherOps(snapshot), dir / "one") == 24);
    // A store of this very run is read where it is, any other file only looked at.
    CHECK(RunStages(snapshot).stats.elements == 24);
    CHECK(run(snapshot, dir / "two") == 0);
    CHECK(FilesIn(dir / "two") == 0);
    CHECK(FilesIn(dir / "s") == 1);
    const std::string cache = Stages(glob, CacheAt(dir / "cache"));
    for (const std::string& content :
         {std::string("years of work"), ContentOf(dir / "d/data-00000-of-00003.tfrecord")}) {
      REQUIRE(WriteFileAtomically(dir / "cache", content).ok());
      CHECK(run(cache, dir / ("for " + std::to_string(content.size()))) == 24);
      CHECK(ContentOf(dir / "cache") == content);
    }
    std::filesystem::remove(dir / "cache");
    CHECK(RunStages(WithOtherOps(cache)).stats.elements == 24);
    const std::string stale = ContentOf(dir / "cache");
    CHECK(run(cache, dir / "three") == 24);
    CHECK(ContentOf(dir / "cache") == stale);
  }
}
