// The plan of a spec: which stages run, in which order, what the rewrites made of them, and which
// have threads of their own.
//
// A spec is lowered here and nowhere else. The pipeline builds this graph and the simulator prices
// it, so a prediction is about what would run. The same spec gives the same plan on every machine:
// nothing here reads a file or asks for the number of cores. What only a run knows (how many files
// a glob matches, what "auto" settles on) is an argument, or stays a Knob in the plan.
//
// Specs must be valid (spec/validate.h). Plain data and free functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "analyzer/base/result.h"
#include "analyzer/spec/ops.h"
#include "analyzer/spec/spec.h"

namespace stallscope::plan {

// An op with what its randomness is drawn from besides the seed and the element: rewrites move ops,
// and the draw must not change with the place.
struct OpInstance {
  OpCall call;
  uint64_t salt = 0;
};

// The salt of a stage's op by its place in the stage; of a stage that draws by itself, place 0.
uint64_t Salt(std::string_view stage, uint64_t place);

// What one map of the spec does. Wherever a rewrite puts it, it is recorded, priced and reported
// under the map's name.
struct MapPiece {
  std::string name;
  std::vector<OpInstance> ops;
  size_t input = 0;  // whose values the ops change; more than 0 with zipped sources only
};

// What runs as one: a stage of the spec, several maps that were fused, or maps joined with a batch.
struct Node {
  StageSpec stage;               // the first map's name; the fields of its kind after the rewrites
  std::vector<MapPiece> pieces;  // a map's; a batch's are the maps done on the way into it
  bool vectorized = false;       // the part of a map that works on whole batches
};

// The node's stage if it is of that kind, else null.
template <class Kind>
const Kind* As(const Node& node) {
  return std::get_if<Kind>(&node.stage.kind);
}

// A source that begins another input.
bool IsZipped(const Node& node);

struct Graph {
  // The sources first; each pulls from the one before it, a source until that has ended. Zipped
  // inputs are pulled from at once by the stage behind all sources.
  std::vector<Node> nodes;
  std::vector<MapPiece> device_maps;  // run by the trainer, on batches that have been copied
  std::vector<std::string> rewrites;  // those that changed something, in the order applied
  bool skip_errors = false;           // the source has on_error: skip

  // The one that begins an input. All of the input have its features and its on_error.
  const SourceSpec& source(size_t input = 0) const;
  // Every element comes out in an order that timing cannot change.
  bool ordered() const;
};

// The stages of a spec with the rewrites that it asks for. Error kUsage where a map on the device
// has host work behind it: its result would have to come back.
Result<Graph> Lower(const Spec& spec);

// {"stages": [{"name": ..., "kind": ..., "ops": [...], ...}], "rewrites": [...]}: what a trace
// keeps of the plan.
std::string GraphJson(const Graph& graph);

// Everything before `node` that decides which elements reach it, as text; knobs of speed do not.
// Two plans with one text can share a store.
std::string PrefixText(const Graph& graph, size_t node);

// The threads of a node and the queue behind them.
struct Threads {
  bool own = false;  // else its work is done in the thread that asks for its elements
  Knob workers = {};
  Knob capacity = {0, false};  // of the queue; 0: there is none
  bool ordered = true;         // elements leave in the order in which they came
};

// `cycle_length` of a source of files must be settled (AutoCycle) before its capacity is read.
Threads ThreadsOf(const Node& node);

// A knob that gives its stage threads: "auto" does even where it settles on one worker.
bool HasThreads(const Knob& parallelism);

// A stage as the recording defines it.
struct RecordedStage {
  std::string name;
  std::string_view kind;
  uint32_t workers = 1;
  bool ordered = true;
  uint64_t capacity = 0;  // of its queue; 0: it has none
  bool zipped = false;    // it stands beside the stages before it, instead of behind them
};

// A node's stages in the order of the way, the one with the queue last. "auto" counts as 1, where
// the tuner starts.
std::vector<RecordedStage> StagesOf(const Node& node);

// What "auto" may settle on.
constexpr int64_t kMostBuffer = 64;  // elements (or batches) in a prefetch
int64_t MostWorkers(int64_t cores);  // of one stage
int64_t AutoCycle(int64_t files, int64_t cores);
// Cores that the tuner plans for: the budget's, else all that the machine has.
int64_t TunerCores(const BudgetSpec& budget, int64_t machine);

// Elements that a reader keeps ready of one file.
int64_t LaneCapacity(const SourceSpec& source);

}  // namespace stallscope::plan
