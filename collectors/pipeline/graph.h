// The stages of a spec as they will run: lowered, rewritten, not yet built. Plain data; any thread.
#ifndef STALLSCOPE_COLLECTORS_PIPELINE_GRAPH_H_
#define STALLSCOPE_COLLECTORS_PIPELINE_GRAPH_H_

#include <cstddef>
#include <string>
#include <vector>

#include "analyzer/base/result.h"
#include "analyzer/spec/spec.h"
#include "collectors/pipeline/pipeline.h"

namespace stallscope::pipeline {

// What one map of the spec does; recorded and reported under its name wherever it ends up.
struct MapPiece {
  std::string name;
  std::vector<OpInstance> ops;
};

struct Node {
  StageSpec stage;               // its name, and the fields of its kind as they are after rewrites
  std::vector<MapPiece> pieces;  // of a map; of a batch those that are done on the way into it
  bool vectorised = false;       // a map that works on whole batches
};

struct Graph {
  std::vector<Node> nodes;
  std::vector<DeviceMap> device_maps;  // without stage numbers
  std::vector<std::string> rewrites;   // that changed something
  bool skip_errors = false;

  const SourceSpec& source() const { return std::get<SourceSpec>(nodes.front().stage.kind); }
  // Whether every stage keeps the order.
  bool ordered() const;
};

// An error where a map on the device has work of the host behind it.
Result<Graph> Lower(const Spec& spec);

// All rewrites that the spec asks for, in a fixed order.
void Rewrite(const RewritesSpec& rewrites, Graph& graph);

// One of the rewrites; true where it changed something. None changes what comes out: not an
// element, not a bit, not the order.
bool FuseMaps(Graph& graph);
bool JoinMapAndBatch(Graph& graph);
bool FoldConstants(Graph& graph);
bool CastLate(Graph& graph);
bool Vectorise(Graph& graph);
bool DecodeOnlyCrop(Graph& graph);
bool ShuffleBeforeDecode(Graph& graph);

// {"stages": [{"name": ..., "kind": ..., "ops": [...], ...}], "rewrites": [...]}
std::string GraphJson(const Graph& graph);

// What the content of a store at `node` depends on: everything before it but knobs of speed.
std::string PrefixKey(const Graph& graph, size_t node, uint64_t seed,
                      const std::string& fingerprint);

}  // namespace stallscope::pipeline

#endif  // STALLSCOPE_COLLECTORS_PIPELINE_GRAPH_H_
