// Typical tf.data graphs, before and after each edit. `patch` applies the diffs, too.
#include "analyzer/findings/graph_change.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "analyzer/base/file.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"

using namespace stallscope;
using findings::GraphEdit;
using findings::SourceChange;
using test::Has;

namespace {

struct Node {
  std::string op;
  std::string rest = {};  // its other settings: R"("line":2,"function":"decode")"
};

// A job whose graph has these nodes; the profile shows the first map.
model::Run RunOf(const std::string& source, const std::vector<Node>& nodes,
                 const std::vector<std::string>& kinds = {"ParallelMapV2"}) {
  model::Run run;
  run.info.job.command = {"python", "train.py"};
  run.info.folder = "/home/u/job";
  model::Loader& loader = run.loaders.emplace_back();
  loader.name = "loader";
  loader.info.kind = "tf.data.Dataset";
  loader.info.file = "/home/u/job/train.py";
  loader.info.line = 9;
  loader.info.call.source = source;
  loader.info.call.source_line = source.empty() ? 0 : 1;
  std::string graph;
  for (const Node& node : nodes) {
    graph += (graph.empty() ? R"({"op":")" : R"(,{"op":")") + node.op + "\"" +
             (node.rest.empty() ? "" : "," + node.rest) + "}";
  }
  loader.info.settings_json = R"({"graph":[)" + graph + "]}";
  for (const std::string& kind : kinds) {
    trace::StageInfo& stage = run.stages.emplace_back();
    stage.id = StageId{static_cast<uint32_t>(run.stages.size() - 1)};
    stage.name = kind;
    stage.kind = kind;
    stage.loader = LoaderId{0};
    if (stage.id.value > 0) stage.inputs = {StageId{stage.id.value - 1}};
  }
  return run;
}

SourceChange ChangeOf(const model::Run& run, GraphEdit edit = GraphEdit::kInParallel,
                      uint32_t stage = 0, const Patch& patch = {}) {
  const auto changes = findings::GraphChangesOf(run, StageId{stage}, edit, patch);
  REQUIRE(changes.size() == 1);
  return changes[0];
}

std::string AfterOf(const SourceChange& change) {
  REQUIRE_MESSAGE(change.lines.size() == 1,
                  (change.by_hand.empty() ? std::string() : change.by_hand[0]));
  return change.lines[0].after;
}

const std::vector<Node> kMapAndBatch = {
    {"Range", R"("line":1)"}, {"Map", R"("line":2)"}, {"Batch", R"("line":3)"}};

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("graph change: a map's function is called in parallel") {
    const std::string source = "d = tf.data.Dataset.range(9)\nd = d.map(work)\nd = d.batch(4)\n";
    const SourceChange change = ChangeOf(RunOf(source, kMapAndBatch));
    CHECK(change.line == 2);
    CHECK(AfterOf(change) ==
          "d = tf.data.Dataset.range(9)\nd = d.map(work, num_parallel_calls=tf.data.AUTOTUNE)\n"
          "d = d.batch(4)\n");
    CHECK(change.diff.starts_with("--- a/train.py\n+++ b/train.py\n@@ -1,3 +1,3 @@\n"));
    // A predicted number of calls is taken over.
    CHECK(Has(AfterOf(ChangeOf(RunOf(source, kMapAndBatch), GraphEdit::kInParallel, 0,
                               {{SetTo("ParallelMapV2.parallelism", 4)}})),
              "d.map(work, num_parallel_calls=4)\n"));
  }

  TEST_CASE("graph change: in a chain, with the file's own name for TensorFlow") {
    model::Run run = RunOf(
        "d = (Dataset.range(9)\n     .map(lambda x: (x, 1), 2)\n     .batch(4))\n", kMapAndBatch);
    run.loaders[0].info.call.names = {"flow"};
    CHECK(AfterOf(ChangeOf(run)) ==
          "d = (Dataset.range(9)\n     .map(lambda x: (x, 1), flow.data.AUTOTUNE)\n"
          "     .batch(4))\n");
    run.loaders[0].info.call.names.clear();
    CHECK(Has(AfterOf(ChangeOf(run)), ".map(lambda x: (x, 1), -1)\n"));
    const auto patch = findings::GraphChangesOf(run, StageId{0}, GraphEdit::kAnyOrder, {});
    CHECK(patch.empty());  // the order of one call at a time is fixed
  }

  TEST_CASE("graph change: a prefetch after the last call, in the style of the chain") {
    const auto ahead = [](const std::string& source, const std::vector<Node>& nodes) {
      return AfterOf(ChangeOf(RunOf(source, nodes), GraphEdit::kAhead));
    };
    CHECK(ahead("d = tf.data.Dataset.range(9)\nd = d.map(work)\nd = d.batch(4)  # few\n",
                kMapAndBatch) ==
          "d = tf.data.Dataset.range(9)\nd = d.map(work)\n"
          "d = d.batch(4).prefetch(tf.data.AUTOTUNE)  # few\n");
    CHECK(ahead("d = (tf.data.Dataset.range(9)\n     .map(work)\n     .batch(4)  # few\n)\n",
                kMapAndBatch) ==
          "d = (tf.data.Dataset.range(9)\n     .map(work)\n     .batch(4)  # few\n"
          "     .prefetch(tf.data.AUTOTUNE)\n)\n");
    CHECK(ahead("d = (tf.data.Dataset.range(9)\r\n     .map(work)\r\n     .batch(4))\r\n",
                kMapAndBatch) ==
          "d = (tf.data.Dataset.range(9)\r\n     .map(work)\r\n     .batch(4)\r\n"
          "     .prefetch(tf.data.AUTOTUNE))\r\n");
    CHECK(ahead("d = tf.data.Dataset.range(9) \\\n    .map(work) \\\n    .batch(4)\n",
                kMapAndBatch) ==
          "d = tf.data.Dataset.range(9) \\\n    .map(work) \\\n"
          "    .batch(4).prefetch(tf.data.AUTOTUNE)\n");
    // A short one gets longer.
    CHECK(ahead("d = tf.data.Dataset.range(9).prefetch(1)\n",
                {{"Range", R"("line":1)"}, {"Prefetch", R"("line":1,"buffer_size":1)"}}) ==
          "d = tf.data.Dataset.range(9).prefetch(tf.data.AUTOTUNE)\n");
  }

  TEST_CASE("graph change: patch applies each diff") {
    const std::string source =
        "import tensorflow as tf\n\n\ndef batches(work):\n    return (\n"
        "        tf.data.Dataset.range(9)\n        .map(work)\n        .batch(4)\n    )\n";
    const std::vector<Node> nodes = {
        {"Range", R"("line":6)"}, {"Map", R"("line":7)"}, {"Batch", R"("line":8)"}};
    for (const GraphEdit edit : {GraphEdit::kInParallel, GraphEdit::kAhead}) {
      const test::ScratchDir dir;
      const SourceChange change = ChangeOf(RunOf(source, nodes), edit);
      REQUIRE(WriteFileAtomically(dir / "train.py", source).ok());
      REQUIRE(WriteFileAtomically(dir / "change.diff", change.diff).ok());
      const auto done = test::RunProgram(
          {"patch", "-p1", "--fuzz=0", "-d", dir.path(), "-i", dir / "change.diff"});
      CHECK_MESSAGE(done.exit_code == 0, (done.out + done.err + change.diff));
      CHECK(ReadWholeFile(dir / "train.py", 1 << 20).value() == AfterOf(change));
    }
  }

  TEST_CASE("graph change: no change if the source already has it, or if the node is unknown") {
    const std::string source = "d = tf.data.Dataset.range(9)\nd = d.map(work)\nd = d.batch(4)\n";
    const auto none = [&](const std::vector<Node>& nodes, GraphEdit edit) {
      return findings::GraphChangesOf(RunOf(source, nodes), StageId{0}, edit, {}).empty();
    };
    CHECK(none({{"ParallelMap", R"("line":2,"num_parallel_calls":"autotune")"}},
               GraphEdit::kInParallel));
    CHECK(none({{"Prefetch", R"("line":3,"buffer_size":"autotune")"}}, GraphEdit::kAhead));
    CHECK(none({{"Map", R"("line":2)"}, {"Map", R"("line":2)"}}, GraphEdit::kInParallel));
    CHECK(none({}, GraphEdit::kAhead));
    model::Run other = RunOf(source, kMapAndBatch);
    other.loaders[0].info.kind = "torch.utils.data.DataLoader";
    CHECK(findings::GraphChangesOf(other, StageId{0}, GraphEdit::kInParallel, {}).empty());
    CHECK(findings::GraphPlaceOf(other, StageId{0}).line == 0);
    CHECK(findings::GraphChangesOf(other, StageId{7}, GraphEdit::kInParallel, {}).empty());
  }

  TEST_CASE("graph change: what no diff can set is described") {
    const auto said = [](const std::string& source, const std::vector<Node>& nodes,
                         GraphEdit edit = GraphEdit::kInParallel) {
      const SourceChange change = ChangeOf(RunOf(source, nodes), edit);
      CHECK(change.diff.empty());
      REQUIRE(change.by_hand.size() == 1);
      return change.by_hand[0];
    };
    const std::string two = "tf.data.Dataset\nd = d.map(a).map(b)\nd = d.batch(4)\n";
    CHECK(said(two, kMapAndBatch) ==
          "set num_parallel_calls=tf.data.AUTOTUNE by hand: the call at train.py:2 is not a "
          "plain call to map()");
    CHECK(Has(said("\nd = d.map(a, **o)\n", kMapAndBatch), "passes **o"));
    CHECK(Has(said("\nd = d.map(a, n)\n", kMapAndBatch), "passes n for num_parallel_calls"));
    CHECK(Has(said("", kMapAndBatch), "at train.py:2: the trace does not have these lines"));
    CHECK(Has(said("x\n", {{"Map"}}), "at train.py:9: the trace does not have these lines"));
  }

  TEST_CASE("graph change: each of two maps has its own call") {
    const std::string source =
        "d = tf.data.Dataset.range(9)\nd = d.map(a)\nd = d.batch(4)\nd = d.map(b)\n";
    const std::vector<Node> nodes = {{"Range", R"("line":1)"},
                                     {"Map", R"("line":2)"},
                                     {"Batch", R"("line":3)"},
                                     {"Map", R"("line":4)"}};
    const model::Run run = RunOf(source, nodes, {"Range", "MapAndBatchV2", "Map"});
    CHECK(findings::GraphPlaceOf(run, StageId{1}).line == 2);
    CHECK(findings::GraphPlaceOf(run, StageId{2}).line == 4);
    CHECK(Has(AfterOf(ChangeOf(run, GraphEdit::kInParallel, 2)),
              "d.map(b, num_parallel_calls=tf.data.AUTOTUNE)"));
    // One of the two was fused away: only the place that builds the graph is known.
    const model::Run fused = RunOf(source, nodes, {"Range", "Map"});
    CHECK(findings::GraphPlaceOf(fused, StageId{1}).line == 9);
    CHECK(findings::GraphPlaceOf(fused, StageId{1}).file == "/home/u/job/train.py");
  }
}
