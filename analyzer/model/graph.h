// The graph of a tf.data loader, from its settings, with the job's call that made each node. Pure;
// any thread.
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
  std::string function;  // the job's function that it calls
  uint32_t line = 0;     // of the call, in the loader's file; 0: in another file, or unknown
  // "data.py:7", of a map's call in another file; empty: none
  std::string elsewhere = {};
  std::string calls;   // num_parallel_calls as JSON: 4, "autotune"; empty: none
  std::string buffer;  // buffer_size, in the same form
};

// From the source to the node that the loop iterates over. Empty for other loaders.
std::vector<GraphNode> GraphOf(const trace::LoaderInfo& loader);

// "Map" for "ParallelMapV2": the name that a graph's node and its iterator share.
std::string_view BaseOf(std::string_view op);

// The node of a profile's stage; several of one kind are matched by their order. None if they
// cannot be distinguished.
std::optional<GraphNode> NodeOf(const Run& run, const trace::StageInfo& stage);

}  // namespace stallscope::model
