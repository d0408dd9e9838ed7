// A rewrite changes how the work is done and never what comes out.
#include <doctest/doctest.h>

#include "tests/collectors/pipeline/pipeline_runs.h"
#include "tests/support/paths.h"

using namespace stallscope;
using test::Delivered;
using test::MakeData;
using test::RunStages;
using test::ScratchDir;

namespace {

constexpr const char* kStages =
    R"~({"name": "read", "source": {"format": "tfrecord", "files": ["%F"]}},
       {"name": "decode", "map": {"ops": ["decode_jpeg"], "parallelism": 2}},
       {"name": "shuffle", "shuffle": {"buffer_size": 7}},
       {"name": "cut", "map": {"ops": ["random_resized_crop(20)", "cast(float32)"]}},
       {"name": "cache", "cache": {}},
       {"name": "augment", "map": {"ops": ["cast(float32)", "flip", "crop(16)", "cast(float32)", "normalize"]}},
       {"name": "label", "map": {"ops": ["one_hot(3)"]}},
       {"name": "batch", "batch": {"size": 5}},
       {"name": "again", "repeat": {"count": 2}})~";

std::string RewrittenStages(const std::string& glob) {
  std::string text = kStages;
  text.replace(text.find("%F"), 2, glob);
  return text;
}

// Images, decoded and mapped by `ops` and batched: with a rewrite the same pixels as without it.
struct Rewritten {
  ScratchDir dir;
  std::string stages;
  Delivered plain;

  explicit Rewritten(const std::string& ops) {
    const std::string glob = MakeData(dir / "d", data::DataFormat::kTfRecord);
    stages = R"({"name": "read", "source": {"format": "tfrecord", "files": [")" + glob +
             R"("]}}, {"name": "m", "map": {"ops": [)" + ops +
             R"(]}}, {"name": "batch", "batch": {"size": 5}})";
    plain = RunStages(stages);
    REQUIRE(!plain.error.has_value());
  }
  // The graph that it then has.
  std::string By(const std::string& rewrite) const {
    const Delivered run = RunStages(stages, "\"rewrites\": {\"" + rewrite + "\": true}");
    REQUIRE(!run.error.has_value());
    CHECK(run.digest == plain.digest);
    return run.graph;
  }
};

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("each rewrite, and all at once, leave every batch as it is") {
    ScratchDir dir;
    const std::string stages = RewrittenStages(MakeData(dir / "d", data::DataFormat::kTfRecord));
    const Delivered plain = RunStages(stages);
    REQUIRE(!plain.error.has_value());
    CHECK(plain.shapes.size() == 10);
    CHECK(plain.graph.find(R"("rewrites":[])") != std::string::npos);
    std::string all;
    for (const char* name : {"map_fusion", "map_and_batch", "constant_folding",
                             "narrow_dtype_late_cast", "vectorise", "shuffle_before_decode"}) {
      CAPTURE(name);
      const std::string on = "\"" + std::string(name) + "\": true";
      all += on + ", ";
      const Delivered rewritten = RunStages(stages, "\"rewrites\": {" + on + "}");
      REQUIRE(!rewritten.error.has_value());
      CHECK(rewritten.digest == plain.digest);
      CHECK(rewritten.values == plain.values);
      CHECK(rewritten.graph.find("\"rewrites\":[\"" + std::string(name) + "\"]") !=
            std::string::npos);
    }
    const Delivered everything =
        RunStages(stages, "\"rewrites\": {" + all + "\"crop_aware_decode\": true}");
    REQUIRE(!everything.error.has_value());
    CHECK(everything.digest == plain.digest);
  }

  TEST_CASE("decoding only the crop gives the pixels of the full decode") {
    ScratchDir dir;
    const std::string glob =
        MakeData(dir / "d", data::DataFormat::kTfRecord, 24, 3, /*width=*/150, /*height=*/110);
    const auto run = [&](const std::string& crop, const std::string& rewrites) {
      return RunStages(R"({"name": "read", "source": {"format": "tfrecord", "files": [")" + glob +
                           R"("]}}, {"name": "decode", "map": {"ops": ["decode_jpeg", ")" + crop +
                           R"("]}}, {"name": "batch", "batch": {"size": 8}})",
                       rewrites);
    };
    for (const char* crop : {"random_resized_crop(32)", "crop(50)"}) {
      CAPTURE(crop);
      const Delivered full = run(crop, "");
      const Delivered part = run(crop, R"("rewrites": {"crop_aware_decode": true})");
      REQUIRE(!part.error.has_value());
      CHECK(part.graph.find("crop_aware_decode") != std::string::npos);
      CHECK(part.digest == full.digest);
    }
  }

  TEST_CASE("a rewrite leaves alone what it would change") {
    // Without order, a map's samples would come into other batches; bad ones would leave holes.
    const std::string source =
        R"({"name": "read", "source": {"format": "synthetic", "elements": 9, "bytes": 4%S}},)";
    const auto graph = [&](const std::string& skip, const std::string& stages,
                           const std::string& rewrite) {
      std::string text = source;
      text.replace(text.find("%S"), 2, skip);
      const Delivered run = RunStages(text + stages, "\"rewrites\": {\"" + rewrite + "\": true}");
      REQUIRE(!run.error.has_value());
      return run.graph;
    };
    const std::string free =
        R"~({"name": "m", "map": {"ops": ["busy(0)"], "parallelism": 2, "deterministic": false}}, {"name": "b", "batch": {"size": 2}})~";
    const std::string kept =
        R"~({"name": "m", "map": {"ops": ["busy(0)"], "parallelism": 2}}, {"name": "b", "batch": {"size": 2}})~";
    CHECK(graph("", free, "map_and_batch").find("\"rewrites\":[]") != std::string::npos);
    CHECK(graph(R"(, "on_error": "skip")", kept, "map_and_batch").find("\"rewrites\":[]") !=
          std::string::npos);
    CHECK(graph("", kept, "map_and_batch").find("\"rewrites\":[\"map_and_batch\"]") !=
          std::string::npos);
    // Nothing before the cast makes one size of all.
    const std::string ragged =
        R"~({"name": "m", "map": {"ops": ["cast(float32)"]}}, {"name": "b", "batch": {"size": 2}})~";
    CHECK(graph("", ragged, "vectorise").find("\"rewrites\":[]") != std::string::npos);
    const std::string one_of_each =
        R"~({"name": "m", "map": {"ops": ["busy(0)"], "deterministic": false}}, {"name": "n", "map": {"ops": ["busy(0)"]}})~";
    CHECK(graph("", one_of_each, "map_fusion").find("\"rewrites\":[]") != std::string::npos);
  }

  TEST_CASE("ops that change nothing are dropped, and the pixels stay") {
    const Rewritten images(R"~("decode_jpeg", "resize(24)", "resize(24)", "crop(24)", "cast(uint8)",
        "cast(float32)", "cast(float16)", "cast(float16)")~");
    CHECK(images.By("constant_folding").find(R"~(["decode_jpeg","resize(24)","cast(float16)"])~") !=
          std::string::npos);
  }

  TEST_CASE("constants of neighbors fold, and the pixels stay") {
    const Rewritten images(R"~("decode_jpeg", "resize(24)", "cast(float32)", "scale(3, offset=1)",
        "scale(0.5)", "cast(float32)", "scale(0.25)", "normalize")~");
    CHECK(images.By("constant_folding")
              .find(R"~(["decode_jpeg","resize(24)","scale(0.375, offset=0.125)","normalize"])~") !=
          std::string::npos);
    // In the reference pipeline a whole batch is scaled as its elements are.
    images.By("vectorise");
  }

  TEST_CASE("ops with a form for a batch move behind it, and the pixels stay") {
    const Rewritten images(
        R"~("decode_jpeg", "resize(24)", "flip", "color_jitter", "crop(16)", "normalize")~");
    const std::string graph = images.By("vectorise");
    CHECK(graph.find(R"~(["decode_jpeg","resize(24)"])~") != std::string::npos);
    CHECK(graph.find(R"~(["flip","color_jitter","crop(16)","normalize"])~") != std::string::npos);
  }
}
