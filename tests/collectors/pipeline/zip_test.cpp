// Zipped sources: what stands beside what, and that every stage keeps it so.
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "collectors/data/example.h"
#include "collectors/data/tfrecord.h"
#include "tests/collectors/pipeline/pipeline_runs.h"
#include "tests/support/paths.h"

using namespace stallscope;
using test::Delivered;
using test::IdsText;
using test::MakeData;
using test::RunStages;
using test::ScratchDir;

namespace {

std::string MadeUp(const std::string& name, int elements, int bytes, const std::string& more = "") {
  return R"({"name": ")" + name + R"(", "source": {"format": "synthetic", "elements": )" +
         std::to_string(elements) + R"(, "bytes": )" + std::to_string(bytes) +
         (more.empty() ? "" : ", " + more) + "}}";
}

std::string Pairs(int first, int second, const std::string& more = "") {
  return MadeUp("a", first, 2, more) + ", " +
         MadeUp("b", second, 3, R"("join": "zip")" + (more.empty() ? "" : ", " + more));
}

// Texts of 1, 2, 3, ... words.
std::string WriteCaptions(const ScratchDir& dir, int count, const char* feature = "text") {
  auto writer = data::TfRecordWriter::Create(dir / "captions");
  data::Buffer record;
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += "word" + std::to_string(i) + " ";
    const data::Example example = {{feature, data::BytesList{text}}};
    REQUIRE(data::SerializeExample(example, record).ok());
    REQUIRE(writer.value().Write(record.view()).ok());
  }
  REQUIRE(writer.value().Finish().ok());
  return dir / "captions";
}

// Images with captions, in batches of both.
std::string Captioned(const std::string& images, const std::string& captions,
                      const std::string& parallelism = "1", const std::string& pad = "pad(4)") {
  return R"({"name": "images", "source": {"format": "tfrecord", "files": [")" + images +
         R"("], "parallelism": )" + parallelism +
         R"(}}, {"name": "captions", "source": {"format": "tfrecord", "join": "zip", "files": [")" +
         captions + R"~("]}}, {"name": "mix", "shuffle": {"buffer_size": 7}},
         {"name": "decode", "map": {"ops": ["decode_jpeg", "resize(16)"], "parallelism": )~" +
         parallelism + R"~(}}, {"name": "tokens", "map": {"ops": ["tokenize(1000)", ")~" + pad +
         R"~("], "input": "captions"}},
         {"name": "normal", "map": {"ops": ["flip", "normalize"]}},
         {"name": "wide", "map": {"ops": ["cast(float32)"], "input": "captions"}},
         {"name": "batch", "batch": {"size": 5, "parallelism": )~" +
         parallelism + "}}";
}

bool SamePlaces(const Delivered& run) {
  return std::equal(run.ids.begin(), run.ids.end(), run.other_ids.begin(), run.other_ids.end(),
                    [](const auto& a, const auto& b) {
                      return a.record == b.record && a.epoch == b.epoch && a.file != b.file;
                    });
}

std::string FailureLine(const Delivered& run) { return run.error ? run.error->Line() : "none"; }

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("elements are paired in order until the shorter input ends, in every pass") {
    const char* const repeat = R"(, {"name": "again", "repeat": {"count": 2}})";
    for (const char* workers : {"", R"("parallelism": 3)"}) {
      CAPTURE(workers);
      for (const bool first_is_shorter : {true, false}) {
        CAPTURE(first_is_shorter);
        const Delivered run = RunStages(
            Pairs(first_is_shorter ? 3 : 40, first_is_shorter ? 40 : 3, workers) + repeat);
        REQUIRE_MESSAGE(!run.error, FailureLine(run));
        CHECK(run.Ids() == "0:0@0 0:1@0 0:2@0 0:0@1 0:1@1 0:2@1");
        CHECK(IdsText(run.other_ids) == "1:0@0 1:1@0 1:2@0 1:0@1 1:1@1 1:2@1");
        CHECK(run.values[2] == std::vector<uint8_t>(2, 2));
        CHECK(run.other_values[2] == std::vector<uint8_t>(3, 2));
        REQUIRE(run.stats.notes.size() == 1);
        CHECK(run.stats.notes[0] == "'" + std::string(first_is_shorter ? "a" : "b") +
                                        "' ended before the sources zipped with it: the rest of "
                                        "their elements is left out");
      }
    }
    CHECK(RunStages(Pairs(4, 4) + repeat).stats.notes.empty());
  }

  TEST_CASE("files are restarted in step, with readers and without") {
    ScratchDir dir;
    const std::string images = MakeData(dir / "d", data::DataFormat::kTfRecord);
    const std::string captions = WriteCaptions(dir, 5);
    std::string first;
    for (const char* parallelism : {"1", "3"}) {
      const Delivered run = RunStages(Captioned(images, captions, parallelism) +
                                      R"(, {"name": "again", "repeat": {"count": 3}})");
      REQUIRE_MESSAGE(!run.error, FailureLine(run));
      CHECK(run.ids.size() == 15);
      CHECK(run.other_ids.back().epoch == 2);
      CHECK(run.stats.elements >= 3 * (24 + 5) - 24);
      if (first.empty()) first = run.digest;
      CHECK(run.digest == first);
    }
  }

  TEST_CASE("sources in a row are one input, and there may be several inputs") {
    const Delivered run = RunStages(
        MadeUp("a", 2, 1) + ", " + MadeUp("a2", 2, 1) + ", " +
        MadeUp("b", 1, 1, R"("join": "zip")") + ", " + MadeUp("b2", 3, 1) + ", " +
        MadeUp("c", 4, 1, R"("join": "zip")") + R"(, {"name": "batch", "batch": {"size": 4}})");
    REQUIRE_MESSAGE(!run.error, FailureLine(run));
    CHECK(run.Ids() == "0:0@0 0:1@0 1:0@0 1:1@0");
    CHECK(IdsText(run.other_ids) == "2:0@0 3:0@0 3:1@0 3:2@0 4:0@0 4:1@0 4:2@0 4:3@0");
    CHECK(run.other_shapes == std::vector<std::string>{"4x1", "4x1"});
    CHECK(run.stats.notes.empty());
  }

  TEST_CASE("every stage keeps what stands beside an element with it") {
    ScratchDir dir;
    const std::string keep = R"(, {"name": "keep", "snapshot": {"path": ")" + (dir / "s") + "\"}}";
    for (const std::string& stage :
         {std::string(R"(, {"name": "x", "shuffle": {"buffer_size": 4}})"),
          std::string(R"(, {"name": "x", "shard": {"count": 3, "index": 1}})"),
          std::string(R"~(, {"name": "x", "filter": {"op": "keep_one_in(2)"}})~"),
          std::string(R"(, {"name": "x", "cache": {}})"),
          std::string(R"(, {"name": "x", "cache": {"where": "disk"}})"), keep, keep,
          std::string(R"(, {"name": "x", "prefetch": {"buffer_size": 3}})"),
          std::string(R"(, {"name": "x", "bucket_by_length": {"width": 4}})"),
          std::string(R"~(, {"name": "x", "map": {"ops": ["busy(0)"], "parallelism": 3}})~")}) {
      CAPTURE(stage);
      for (const char* batch : {"", R"(, {"name": "batch", "batch": {"size": 3}})"}) {
        const std::string again = stage.find("bucket") != std::string::npos
                                      ? ""
                                      : R"(, {"name": "r", "repeat": {"count": 2}})";
        const Delivered run = RunStages(Pairs(9, 11) + stage + again + batch);
        REQUIRE_MESSAGE(!run.error, FailureLine(run));
        CHECK(run.ids.size() >= 6);
        CHECK(SamePlaces(run));
      }
    }
    // The second time the pairs come from the file.
    CHECK(RunStages(Pairs(9, 11) + keep).stats.elements == 0);
  }

  TEST_CASE("a map changes the input that it names, and rewrites and workers no bit") {
    ScratchDir dir;
    const std::string images = MakeData(dir / "d", data::DataFormat::kTfRecord);
    const std::string captions = WriteCaptions(dir, 24);
    const Delivered plain = RunStages(Captioned(images, captions));
    REQUIRE_MESSAGE(!plain.error, FailureLine(plain));
    CHECK(plain.shapes.front() == "5x16x16x3");
    CHECK(plain.other_shapes.front() == "5x4");
    CHECK(plain.shapes.back() == "4x16x16x3");
    CHECK(plain.other_shapes.back() == "4x4");
    CHECK(plain.other_values.front().size() == 5 * 4 * sizeof(float));
    CHECK(plain.ids.size() == 24);
    for (const char* rewrites :
         {R"("map_fusion": true)", R"("map_and_batch": true)", R"("vectorise": true)",
          R"("narrow_dtype_late_cast": true)", R"("shuffle_before_decode": true)",
          R"("map_fusion": true, "map_and_batch": true, "vectorise": true,
             "constant_folding": true, "narrow_dtype_late_cast": true, "crop_aware_decode": true)"}) {
      CAPTURE(rewrites);
      for (const char* parallelism : {"1", "3"}) {
        const Delivered run = RunStages(Captioned(images, captions, parallelism),
                                        R"("rewrites": {)" + std::string(rewrites) + "}");
        REQUIRE_MESSAGE(!run.error, FailureLine(run));
        CHECK(run.digest == plain.digest);
        CHECK(run.other_values == plain.other_values);
      }
    }
    // The digest sees the second input, too.
    CHECK(RunStages(Captioned(images, captions, "1", "pad(5)")).digest != plain.digest);
    CHECK(RunStages(Captioned(images, captions), R"("seed": 3)").digest != plain.digest);
  }

  TEST_CASE("ops on whole batches change the input that they name") {
    ScratchDir dir;
    const std::string files = "[\"" + MakeData(dir / "d", data::DataFormat::kTfRecord) + "\"]";
    const std::string stages =
        R"({"name": "images", "source": {"format": "tfrecord", "files": )" + files +
        R"(}}, {"name": "masks", "source": {"format": "tfrecord", "join": "zip", "files": )" +
        files + R"~(}}, {"name": "decode", "map": {"ops": ["decode_jpeg", "resize(16)"]}},
           {"name": "mask", "map": {"ops": ["decode_jpeg", "resize(8)", "flip", "color_jitter",
                                            "normalize"], "input": "masks"}},
           {"name": "batch", "batch": {"size": 5}})~";
    const Delivered plain = RunStages(stages);
    const Delivered whole = RunStages(stages, R"("rewrites": {"vectorise": true})");
    REQUIRE_MESSAGE(!whole.error, FailureLine(whole));
    CHECK(whole.graph.find(R"("vectorised":true)") != std::string::npos);
    CHECK(whole.other_shapes.front() == "5x8x8x3");
    CHECK(whole.values.front().size() == 5 * 16 * 16 * 3);
    CHECK(whole.other_values.front().size() == 5 * 8 * 8 * 3 * sizeof(float));
    CHECK(whole.digest == plain.digest);
  }

  TEST_CASE("each input is batched by its own rules") {
    ScratchDir dir;
    const std::string stages =
        MadeUp("a", 4, 2) + R"(, {"name": "captions", "source": {"format": "tfrecord",
        "join": "zip", "files": [")" +
        WriteCaptions(dir, 4) +
        R"~("]}}, {"name": "tokens", "map": {"ops": ["tokenize(9)"], "input": "captions"}})~";
    const Delivered padded =
        RunStages(stages + R"(, {"name": "batch", "batch": {"size": 4, "pad": true}})");
    REQUIRE_MESSAGE(!padded.error, FailureLine(padded));
    CHECK(padded.shapes == std::vector<std::string>{"4x2"});
    CHECK(padded.other_shapes == std::vector<std::string>{"4x4"});
    const Delivered uneven = RunStages(stages + R"(, {"name": "batch", "batch": {"size": 4}})");
    REQUIRE(uneven.error.has_value());
    CHECK(FailureLine(uneven).find("a sample of 2 int32 does not fit into a batch of 1 int32") !=
          std::string::npos);
  }

  TEST_CASE("an error names the place in the input that it comes from") {
    ScratchDir dir;
    const Delivered run = RunStages(
        MadeUp("a", 4, 2) + R"(, {"name": "captions", "source": {"format": "tfrecord",
        "join": "zip", "files": [")" +
        WriteCaptions(dir, 4, "note") +
        R"~("]}}, {"name": "tokens", "map": {"ops": ["tokenize(9)"], "input": "captions"}})~");
    REQUIRE(run.error.has_value());
    CHECK(FailureLine(run).find("captions") != std::string::npos);
    CHECK(FailureLine(run).find("none of the usual text features") != std::string::npos);
  }
}
