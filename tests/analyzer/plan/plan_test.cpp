#include "analyzer/plan/plan.h"

#include <doctest/doctest.h>

#include <string>

#include "analyzer/spec/spec_json.h"

using namespace stallscope;

namespace {

constexpr const char* kImages =
    R"~({"name": "read", "source": {"format": "tfrecord", "files": ["x"]%S}},
        {"name": "decode", "map": {"ops": ["decode_jpeg", "crop(16)"], "parallelism": 2}},
        {"name": "augment", "map": {"ops": ["flip", "normalize"], "parallelism": 4}},
        {"name": "mix", "shuffle": {"buffer_size": 8}},
        {"name": "label", "map": {"ops": ["cast(float32)"]}},
        {"name": "batch", "batch": {"size": 4}},
        {"name": "ready", "prefetch": {"buffer_size": 2}})~";

Result<plan::Graph> LowerText(std::string stages, const std::string& rewrites = "") {
  if (const size_t at = stages.find("%S"); at != std::string::npos) stages.replace(at, 2, "");
  const auto spec =
      ReadSpec(R"({"stages": [)" + stages + R"(], "rewrites": {)" + rewrites + "}}", "spec");
  REQUIRE_MESSAGE(spec.ok(), (spec.ok() ? "" : spec.error().Line()));
  return plan::Lower(spec.value());
}

std::string Skipping(std::string stages) {
  stages.replace(stages.find("%S"), 2, R"(, "on_error": "skip")");
  return stages;
}

// "read decode+augment(4) mix ...": pieces joined by "+", workers where it has threads.
std::string Text(const plan::Graph& graph) {
  std::string text;
  for (const plan::Node& node : graph.nodes) {
    const char* join = text.empty() ? "" : " ";
    for (const plan::RecordedStage& stage : plan::StagesOf(node)) {
      text += join + stage.name;
      join = "+";
    }
    const plan::Threads threads = plan::ThreadsOf(node);
    if (threads.own) text += "(" + std::to_string(threads.workers.value) + ")";
  }
  return text;
}

std::string Plan(const std::string& stages, const std::string& rewrites = "") {
  const auto graph = LowerText(stages, rewrites);
  REQUIRE(graph.ok());
  return Text(graph.value());
}

plan::Threads OnlyThreads(const std::string& stage) {
  const auto graph = LowerText(
      R"({"name": "read", "source": {"format": "synthetic"}}, {"name": "x", )" + stage + "}");
  REQUIRE(graph.ok());
  return plan::ThreadsOf(graph.value().nodes.back());
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("without rewrites a plan is the spec's stages") {
    CHECK(Plan(kImages) == "read decode(2) augment(4) mix label batch ready(1)");
  }

  TEST_CASE("map_fusion: neighbors share the threads of the larger") {
    CHECK(Plan(kImages, R"("map_fusion": true)") ==
          "read decode+augment(4) mix label batch ready(1)");
  }

  TEST_CASE("map_and_batch: the batch takes the map's threads") {
    CHECK(Plan(kImages, R"("map_and_batch": true)") ==
          "read decode(2) augment(4) mix label+batch ready(1)");
  }

  TEST_CASE("shuffle_before_decode: the shuffle passes every map in front of it") {
    CHECK(Plan(kImages, R"("shuffle_before_decode": true)") ==
          "read mix decode(2) augment(4) label batch ready(1)");
  }

  TEST_CASE("vectorise: ops on values move behind the batch under their map's name") {
    CHECK(Plan(kImages, R"("vectorise": true)") ==
          "read decode(2) augment(4) mix batch label ready(1)");
    CHECK(
        Plan(kImages, R"("vectorise": true, "map_fusion": true, "shuffle_before_decode": true)") ==
        "read mix decode+augment+label(4) batch label(4) ready(1)");
  }

  TEST_CASE("all rewrites together apply in their fixed order") {
    const auto graph = LowerText(kImages, R"("map_fusion": true, "map_and_batch": true,
        "shuffle_before_decode": true, "vectorise": true, "crop_aware_decode": true,
        "constant_folding": true, "narrow_dtype_late_cast": true)");
    REQUIRE(graph.ok());
    CHECK(Text(graph.value()).find("read mix decode+augment+label+batch(4)") == 0);
    CHECK(graph.value().rewrites.front() == "shuffle_before_decode");
    CHECK(graph.value().rewrites.back() == "map_and_batch");
  }

  TEST_CASE("rewrites move no op of one input into a map of another") {
    const std::string pairs =
        R"~({"name": "images", "source": {"format": "tfrecord", "files": ["x"]}},
        {"name": "more", "source": {"format": "synthetic"}},
        {"name": "masks", "source": {"format": "tfrecord", "files": ["y"], "join": "zip",
                                     "features": {"image": "mask"}}},
        {"name": "decode", "map": {"ops": ["decode_jpeg", "cast(float32)"]}},
        {"name": "resize", "map": {"ops": ["crop(16)"], "input": "masks"}},
        {"name": "flip", "map": {"ops": ["flip"]}},
        {"name": "batch", "batch": {"size": 4}})~";
    const auto graph = LowerText(pairs, R"("map_fusion": true, "crop_aware_decode": true,
        "narrow_dtype_late_cast": true, "vectorise": true)");
    REQUIRE(graph.ok());
    // The masks have one size before the batch, the images do not: their flip stays in front of it.
    CHECK(Text(graph.value()) == "images more masks decode+resize+flip batch");
    const auto& pieces = graph.value().nodes[3].pieces;
    CHECK(pieces[0].ops.size() == 2);
    CHECK_FALSE(pieces[0].ops[0].call.Flag("crop"));
    CHECK(pieces[1].ops.size() == 1);
    CHECK(pieces[0].input == 0);
    CHECK(pieces[1].input == 1);
    std::string cropped = pairs;
    cropped.replace(cropped.find(R"~(, "cast(float32)")~"), 17, "");
    const auto joined =
        LowerText(cropped, R"("map_fusion": true, "crop_aware_decode": true)").value();
    CHECK(joined.rewrites == std::vector<std::string>{"map_fusion"});
    CHECK(graph.value().source(1).features.count("image") == 1);
    CHECK(graph.value().source().features.empty());
    CHECK_FALSE(plan::StagesOf(graph.value().nodes[1]).back().zipped);
    CHECK(plan::StagesOf(graph.value().nodes[2]).back().zipped);
    // A store of concatenated elements is none of pairs.
    const auto plain = LowerText(R"({"name": "a", "source": {"format": "synthetic"}},
        {"name": "b", "source": {"format": "synthetic"}}, {"name": "keep", "cache": {}})");
    const auto zipped = LowerText(R"({"name": "a", "source": {"format": "synthetic"}},
        {"name": "b", "source": {"format": "synthetic", "join": "zip"}},
        {"name": "keep", "cache": {}})");
    CHECK(plan::PrefixText(plain.value(), 2) != plan::PrefixText(zipped.value(), 2));
  }

  TEST_CASE("on_error: skip refuses what would change the elements that are left") {
    for (const char* rewrite : {"map_and_batch", "shuffle_before_decode", "vectorise"}) {
      CAPTURE(rewrite);
      const std::string asked = "\"" + std::string(rewrite) + "\": true";
      CHECK(Plan(Skipping(kImages), asked) == Plan(kImages));
      const auto graph = LowerText(Skipping(kImages), asked);
      REQUIRE(graph.ok());
      CHECK(graph.value().rewrites.empty());
    }
    CHECK(Plan(Skipping(kImages), R"("map_fusion": true)") != Plan(kImages));
  }

  TEST_CASE("a map on the device is the trainer's, and no host work may follow it") {
    const std::string front = R"({"name": "read", "source": {"format": "synthetic"}},
        {"name": "gpu", "map": {"ops": ["flip"], "on": "device"}},)";
    const auto graph = LowerText(front + R"({"name": "batch", "batch": {"size": 4}})");
    REQUIRE(graph.ok());
    CHECK(Text(graph.value()) == "read batch");
    REQUIRE(graph.value().device_maps.size() == 1);
    CHECK(graph.value().device_maps.front().name == "gpu");
    const auto wrong = LowerText(front + R"({"name": "mix", "shuffle": {"buffer_size": 4}})");
    REQUIRE_FALSE(wrong.ok());
    CHECK(wrong.error().kind == ErrorKind::kUsage);
    CHECK(wrong.error().Line().find("gpu") != std::string::npos);
  }

  TEST_CASE("threads: a stage works in the thread that asks unless it has workers or a buffer") {
    CHECK_FALSE(OnlyThreads(R"~("map": {"ops": ["busy(0)"]})~").own);
    CHECK_FALSE(OnlyThreads(R"("prefetch": {"buffer_size": 0})").own);
    const plan::Threads three = OnlyThreads(R"~("map": {"ops": ["busy(0)"], "parallelism": 3})~");
    CHECK(three.own);
    CHECK(three.capacity.value == 3);
    // Even where "auto" settles on one worker, that is a thread with a queue.
    const plan::Threads tuned =
        OnlyThreads(R"~("map": {"ops": ["busy(0)"], "parallelism": "auto"})~");
    CHECK(tuned.own);
    CHECK(tuned.capacity.automatic);
    const plan::Threads buffer = OnlyThreads(R"("prefetch": {"buffer_size": 5})");
    CHECK(buffer.own);
    CHECK(buffer.workers.value == 1);
    CHECK(buffer.capacity.value == 5);
    // A shuffle holds elements, and the thread that asks fills it.
    const plan::Threads shuffle = OnlyThreads(R"("shuffle": {"buffer_size": 7})");
    CHECK_FALSE(shuffle.own);
    CHECK(shuffle.capacity.value == 7);
  }

  TEST_CASE("a serial source has one reader, whatever its parallelism") {
    const auto graph =
        LowerText(R"({"name": "read", "source": {"format": "serial", "parallelism": 4}})");
    REQUIRE(graph.ok());
    CHECK_FALSE(plan::ThreadsOf(graph.value().nodes.front()).own);
  }

  TEST_CASE("limits of auto follow the cores, and the budget where there is one") {
    CHECK(plan::MostWorkers(1) == 4);
    CHECK(plan::MostWorkers(8) == 16);
    CHECK(plan::AutoCycle(3, 8) == 3);
    CHECK(plan::AutoCycle(100, 8) == 16);
    CHECK(plan::TunerCores({.cores = 2}, 8) == 2);
    CHECK(plan::TunerCores({}, 8) == 8);
    CHECK(plan::TunerCores({}, 0) == 1);
  }

  TEST_CASE("a store's prefix ignores knobs of speed and knows everything else") {
    const auto text = [](const std::string& map) {
      const auto graph = LowerText(R"({"name": "read", "source": {"format": "synthetic"}},
          {"name": "work", "map": )" +
                                   map + R"(}, {"name": "cache", "cache": {}})");
      REQUIRE(graph.ok());
      return plan::PrefixText(graph.value(), 2);
    };
    CHECK(text(R"~({"ops": ["busy(1)"], "parallelism": 4})~") == text(R"~({"ops": ["busy(1)"]})~"));
    CHECK(text(R"~({"ops": ["busy(2)"]})~") != text(R"~({"ops": ["busy(1)"]})~"));
  }
}
