// What comes out, and in which order.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "collectors/data/tfrecord.h"
#include "tests/collectors/pipeline/pipeline_runs.h"
#include "tests/support/paths.h"

using namespace stallscope;
using test::Delivered;
using test::MakeData;
using test::RunStages;
using test::ScratchDir;

namespace {

// Files of so many records of four bytes each.
std::string WriteRecords(const ScratchDir& dir, std::initializer_list<int> counts) {
  int file = 0;
  for (const int count : counts) {
    auto writer = data::TfRecordWriter::Create(dir / ("f" + std::to_string(file)));
    for (int i = 0; i < count; ++i) {
      const std::string text = {'f', static_cast<char>('0' + file), 'r',
                                static_cast<char>('0' + i)};
      REQUIRE(writer.value().Write(data::AsBytes(text)).ok());
    }
    REQUIRE(writer.value().Finish().ok());
    ++file;
  }
  return dir / "f*";
}

std::string Source(const std::string& glob, const std::string& more = "") {
  return R"({"name": "read", "source": {"format": "tfrecord", "files": [")" + glob + "\"]" +
         (more.empty() ? "" : ", " + more) + "}}";
}

constexpr const char* kPreprocess =
    R"~(, {"name": "decode", "map": {"ops": ["decode_jpeg", "random_resized_crop(16)"], "parallelism": %P}},
       {"name": "augment", "map": {"ops": ["flip", "color_jitter", "normalize"], "parallelism": %P}},
       {"name": "batch", "batch": {"size": 5}}, {"name": "prefetch", "prefetch": {"buffer_size": 2}})~";

std::string Preprocess(const std::string& parallelism, const std::string& more = "") {
  std::string text = kPreprocess;
  for (size_t at; (at = text.find("%P")) != std::string::npos;) {
    text.replace(at, 2, parallelism + more);
  }
  return text;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("files are read in turn, as interleave does it") {
    ScratchDir dir;
    const std::string glob = WriteRecords(dir, {3, 1, 2, 2});
    const auto ids = [&](const std::string& knobs) { return RunStages(Source(glob, knobs)).Ids(); };
    CHECK(ids("") == "0:0@0 0:1@0 0:2@0 1:0@0 2:0@0 2:1@0 3:0@0 3:1@0");
    // The place of file 1 is taken by file 2 when its turn finds it at its end.
    const std::string in_turn = "0:0@0 1:0@0 0:1@0 0:2@0 2:0@0 2:1@0 3:0@0 3:1@0";
    CHECK(ids(R"("cycle_length": 2)") == in_turn);
    CHECK(ids(R"("cycle_length": 2, "parallelism": 2)") == in_turn);
    CHECK(ids(R"("cycle_length": 2, "parallelism": 5)") == in_turn);
    const std::string in_blocks = "0:0@0 0:1@0 1:0@0 0:2@0 2:0@0 2:1@0 3:0@0 3:1@0";
    CHECK(ids(R"("cycle_length": 2, "block_length": 2)") == in_blocks);
    CHECK(ids(R"("cycle_length": 2, "block_length": 2, "parallelism": 3)") == in_blocks);
    CHECK(ids(R"("cycle_length": 9, "parallelism": "auto")") == ids(R"("cycle_length": 9)"));
  }

  TEST_CASE("sources in a row follow each other in every epoch, whatever their workers") {
    ScratchDir dir;
    const std::string glob = WriteRecords(dir, {2, 1});
    const auto ids = [&](const std::string& knobs, const std::string& more) {
      return RunStages(Source(glob) +
                       R"(, {"name": "more", "source": {"format": "synthetic", "elements": 2)" +
                       knobs +
                       R"(}}, {"name": "last", "source": {"format": "tfrecord", "files": [")" +
                       dir / "f0" + R"("]}})" + more)
          .Ids();
    };
    const std::string pass = "0:0@0 0:1@0 1:0@0 2:0@0 2:1@0 3:0@0 3:1@0";
    CHECK(ids("", "") == pass);
    CHECK(ids(R"(, "parallelism": 2)", "") == pass);
    std::string second = pass;
    std::replace(second.begin(), second.end(), '@', '#');
    for (size_t at; (at = second.find("#0")) != std::string::npos;) second.replace(at, 2, "@1");
    CHECK(ids("", R"(, {"name": "again", "repeat": {"count": 2}})") == pass + " " + second);
    CHECK(ids("", R"(, {"name": "shard", "shard": {"count": 3, "index": 2}})") == "1:0@0 3:0@0");
  }

  TEST_CASE("a store of several sources belongs to the data of all of them") {
    ScratchDir dir;
    const std::string glob = WriteRecords(dir, {2, 1});
    const auto run = [&](int elements) {
      return RunStages(Source(glob) +
                       R"(, {"name": "more", "source": {"format": "synthetic", "elements": )" +
                       std::to_string(elements) + R"(}}, {"name": "kept", "snapshot": {"path": ")" +
                       dir / "kept" + "\"}}");
    };
    CHECK(run(2).ids.size() == 5);
    const Delivered again = run(2);
    CHECK(again.ids.size() == 5);
    CHECK(again.stats.elements == 0);  // nothing was read
    CHECK(run(3).ids.size() == 6);
  }

  TEST_CASE("without order every element still comes, once") {
    ScratchDir dir;
    const std::string glob = WriteRecords(dir, {9, 1, 7, 4});
    const Delivered free =
        RunStages(Source(glob, R"("cycle_length": 3, "parallelism": 3, "deterministic": false)"));
    const Delivered ordered = RunStages(Source(glob));
    CHECK(free.ids.size() == 21);
    const auto sorted = [](const Delivered& run) {
      std::multiset<std::pair<uint32_t, uint64_t>> ids;
      for (const auto& id : run.ids) ids.insert({id.file, id.record});
      return ids;
    };
    CHECK(sorted(free) == sorted(ordered));
  }

  TEST_CASE("with order kept, every parallelism gives the same batches to the bit") {
    ScratchDir dir;
    const std::string glob = MakeData(dir / "d", data::DataFormat::kTfRecord);
    const Delivered alone = RunStages(Source(glob) + Preprocess("1"), R"("seed": 5)");
    REQUIRE(!alone.error.has_value());
    CHECK(alone.shapes.size() == 5);
    CHECK(alone.shapes.front() == "5x16x16x3");
    CHECK(alone.shapes.back() == "4x16x16x3");
    for (const char* parallelism : {"2", "4", "\"auto\""}) {
      const Delivered many = RunStages(Source(glob) + Preprocess(parallelism), R"("seed": 5)");
      CHECK(many.digest == alone.digest);
      CHECK(many.values == alone.values);
      CHECK(many.Ids() == alone.Ids());
    }
    const Delivered other_seed = RunStages(Source(glob) + Preprocess("2"), R"("seed": 6)");
    CHECK(other_seed.Ids() == alone.Ids());
    CHECK(other_seed.digest != alone.digest);
  }

  TEST_CASE("without order, the same samples come in some order, and the digest does not mind") {
    ScratchDir dir;
    const std::string glob = MakeData(dir / "d", data::DataFormat::kTfRecord);
    const std::string free = R"(, "deterministic": false)";
    const Delivered one = RunStages(Source(glob) + Preprocess("1", free));
    const Delivered four = RunStages(Source(glob) + Preprocess("4", free));
    REQUIRE(!four.error.has_value());
    CHECK(four.ids.size() == 24);
    CHECK(one.digest == four.digest);
    const Delivered ordered = RunStages(Source(glob) + Preprocess("1"));
    CHECK(ordered.digest != one.digest);  // another kind of digest
  }

  TEST_CASE("all formats of one data set give the same labels, the pixel formats the same pixels") {
    ScratchDir dir;
    std::vector<int64_t> labels;
    std::vector<std::vector<uint8_t>> pixels;
    struct Form {
      data::DataFormat format;
      const char* name;
      const char* decode;
    };
    for (const auto& [format, form_name, decode] :
         {Form{data::DataFormat::kTfRecord, "tfrecord", R"("decode_jpeg")"},
          Form{data::DataFormat::kCsv, "csv", R"("decode_csv")"},
          Form{data::DataFormat::kHdf5, "hdf5", R"~("busy(0)")~"}}) {
      const std::string name = form_name;  // CAPTURE is a lambda, which takes no binding
      CAPTURE(name);
      const std::string glob = MakeData(dir / name, format, 6, 1);
      const Delivered run =
          RunStages(R"({"name": "read", "source": {"format": ")" + std::string(name) +
                    R"(", "files": [")" + glob + R"("]}}, {"name": "decode", "map": {"ops": [)" +
                    decode + R"(]}}, {"name": "batch", "batch": {"size": 6}})");
      REQUIRE(!run.error.has_value());
      CHECK(run.shapes == std::vector<std::string>{"6x48x64x3"});
      if (labels.empty()) labels = run.labels;
      if (pixels.empty()) pixels = run.values;
      CHECK(run.labels == labels);
      CHECK(run.values == pixels);
    }
    const std::string folder = MakeData(dir / "images", data::DataFormat::kImages, 6, 1);
    const Delivered images = RunStages(
        R"({"name": "read", "source": {"format": "images", "files": [")" + folder +
        R"("], "parallelism": 2, "cycle_length": 2}}, {"name": "decode", "map": {"ops": ["decode_jpeg"]}})");
    REQUIRE(!images.error.has_value());
    std::sort(labels.begin(), labels.end());
    std::vector<int64_t> image_labels = images.labels;
    std::sort(image_labels.begin(), image_labels.end());
    CHECK(image_labels == labels);
  }

  TEST_CASE("repeat restarts epochs, shuffle reorders each, shard takes its part") {
    const std::string source =
        R"({"name": "read", "source": {"format": "synthetic", "elements": 5, "bytes": 8}})";
    CHECK(RunStages(source + R"(, {"name": "r", "repeat": {"count": 2}})").Ids() ==
          "0:0@0 0:1@0 0:2@0 0:3@0 0:4@0 0:0@1 0:1@1 0:2@1 0:3@1 0:4@1");
    CHECK(RunStages(source + R"(, {"name": "r", "repeat": {}})", "", 12).ids.back().epoch == 2);
    CHECK(RunStages(source + R"(, {"name": "s", "shard": {"count": 2, "index": 1}})").Ids() ==
          "0:1@0 0:3@0");
    const Delivered shuffled = RunStages(
        source +
        R"(, {"name": "s", "shuffle": {"buffer_size": 5}}, {"name": "r", "repeat": {"count": 2}})");
    REQUIRE(shuffled.ids.size() == 10);
    std::set<uint64_t> first;
    std::set<uint64_t> second;
    bool same = true;
    for (size_t i = 0; i < 5; ++i) {
      first.insert(shuffled.ids[i].record);
      second.insert(shuffled.ids[i + 5].record);
      same = same && shuffled.ids[i].record == shuffled.ids[i + 5].record;
    }
    CHECK(first.size() == 5);
    CHECK(second.size() == 5);
    CHECK_FALSE(same);
    // A buffer of one keeps the order.
    CHECK(RunStages(source + R"(, {"name": "s", "shuffle": {"buffer_size": 1}})").Ids() ==
          RunStages(source).Ids());
    // Batches cross epochs where the repeat stands before them.
    CHECK(
        RunStages(source +
                  R"(, {"name": "r", "repeat": {"count": 2}}, {"name": "b", "batch": {"size": 4}})")
            .shapes == std::vector<std::string>{"4x8", "4x8", "2x8"});
    CHECK(
        RunStages(
            source +
            R"(, {"name": "b", "batch": {"size": 4, "drop_remainder": true}}, {"name": "r", "repeat": {"count": 2}})")
            .shapes == std::vector<std::string>{"4x8", "4x8"});
  }

  TEST_CASE("filters keep what they say") {
    const std::string source =
        R"({"name": "read", "source": {"format": "synthetic", "elements": 20, "bytes": 8}})";
    CHECK(RunStages(source + R"~(, {"name": "f", "filter": {"op": "keep_one_in(6)"}})~").Ids() ==
          "0:0@0 0:6@0 0:12@0 0:18@0");
    CHECK(RunStages(source + R"~(, {"name": "f", "filter": {"op": "label_below(2)"}})~").Ids() ==
          "0:0@0 0:1@0 0:10@0 0:11@0");
    CHECK(RunStages(source + R"~(, {"name": "f", "filter": {"op": "min_bytes(9)"}})~").ids.empty());
    const Delivered half =
        RunStages(source + R"~(, {"name": "f", "filter": {"op": "keep_fraction(0.5)"}})~");
    CHECK(half.ids.size() > 3);
    CHECK(half.ids.size() < 17);
  }

  TEST_CASE("elements of unequal length need pad, and are filled up with zeros") {
    ScratchDir dir;
    auto writer = data::TfRecordWriter::Create(dir / "f");
    for (const char* text : {"a", "bcd"}) REQUIRE(writer.value().Write(data::AsBytes(text)).ok());
    REQUIRE(writer.value().Finish().ok());
    const Delivered ragged =
        RunStages(Source(dir / "f") + R"(, {"name": "b", "batch": {"size": 2}})");
    REQUIRE(ragged.error.has_value());
    CHECK(ragged.error->Line().find("record 1") != std::string::npos);
    CHECK(ragged.error->Line().find("a sample of 3 uint8 does not fit into a batch of 1 uint8") !=
          std::string::npos);
    const Delivered padded =
        RunStages(Source(dir / "f") + R"(, {"name": "b", "batch": {"size": 2, "pad": true}})");
    REQUIRE(padded.values.size() == 1);
    CHECK(padded.values[0] == std::vector<uint8_t>{'a', 0, 0, 'b', 'c', 'd'});
  }
}
