// Caches and snapshots.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "analyzer/base/file.h"
#include "collectors/pipeline/element_codec.h"
#include "tests/collectors/pipeline/pipeline_runs.h"
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
}
