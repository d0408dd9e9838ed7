// Two maps in a row become one: an element is handed over once instead of twice.
#include <algorithm>
#include <iterator>

#include "collectors/pipeline/graph.h"

namespace stallscope::pipeline {

bool FuseMaps(Graph& graph) {
  bool changed = false;
  for (size_t i = 0; i + 1 < graph.nodes.size();) {
    Node& first = graph.nodes[i];
    Node& second = graph.nodes[i + 1];
    auto* const map = std::get_if<MapSpec>(&first.stage.kind);
    const auto* const next = std::get_if<MapSpec>(&second.stage.kind);
    // Fusing one that keeps order with one that does not would make order or lose it.
    if (map == nullptr || next == nullptr || map->deterministic != next->deterministic) {
      ++i;
      continue;
    }
    map->parallelism.automatic = map->parallelism.automatic || next->parallelism.automatic;
    map->parallelism.value = std::max(map->parallelism.value, next->parallelism.value);
    std::move(second.pieces.begin(), second.pieces.end(), std::back_inserter(first.pieces));
    graph.nodes.erase(graph.nodes.begin() + static_cast<ptrdiff_t>(i) + 1);
    changed = true;
  }
  return changed;
}

}  // namespace stallscope::pipeline
