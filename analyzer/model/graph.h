// The graph of a tf.data loader, as its settings have it: which call of the job's made which node.
// Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/run.h"

namespace stallscope::model {

struct GraphNode {
  std::string op;        // "ParallelMap"
  std::string function;  // of the job's, that it calls
  uint32_t line = 0;     // of the call, in the file of the loader; 0: in another one, or unknown
  std::string calls;     // num_parallel_calls as JSON: 4, "autotune"; empty: not given
  std::string buffer;    // buffer_size, likewise
};

// From the source to what is iterated over. Empty for another loader.
std::vector<GraphNode> GraphOf(const trace::LoaderInfo& loader);

// "Map" of "ParallelMapV2": what a node of a graph and its iterator have in common.
std::string_view BaseOf(std::string_view op);

// The node that a stage of a profile is; of several alike, by their order. None where it is not
// known which.
std::optional<GraphNode> NodeOf(const Run& run, const trace::StageInfo& stage);

}  // namespace stallscope::model
