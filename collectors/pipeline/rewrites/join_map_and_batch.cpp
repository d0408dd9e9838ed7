// A map and the batch behind it become one: workers write their results where they stay, and no
// sample is copied.
#include <algorithm>

#include "collectors/pipeline/graph.h"

namespace stallscope::pipeline {

bool JoinMapAndBatch(Graph& graph) {
  // A bad sample would leave a hole that the next one cannot fill.
  if (graph.skip_errors) return false;
  bool changed = false;
  for (size_t i = 0; i + 1 < graph.nodes.size(); ++i) {
    const auto* const map = std::get_if<MapSpec>(&graph.nodes[i].stage.kind);
    auto* const batch = std::get_if<BatchSpec>(&graph.nodes[i + 1].stage.kind);
    // Without order, a map's samples would come into batches in another way than by themselves.
    if (map == nullptr || batch == nullptr || !map->deterministic) continue;
    batch->parallelism.automatic = batch->parallelism.automatic || map->parallelism.automatic;
    batch->parallelism.value = std::max(batch->parallelism.value, map->parallelism.value);
    graph.nodes[i + 1].pieces = std::move(graph.nodes[i].pieces);
    graph.nodes.erase(graph.nodes.begin() + static_cast<ptrdiff_t>(i));
    changed = true;
  }
  return changed;
}

}  // namespace stallscope::pipeline
