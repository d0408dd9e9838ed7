// A shuffle behind a decode moves before it, where elements are small: a buffer of 1,000 JPEGs
// takes 100 MB, one of 1,000 pictures 560.
#include <algorithm>
#include <utility>

#include "collectors/pipeline/graph.h"

namespace stallscope::pipeline {

bool ShuffleBeforeDecode(Graph& graph) {
  // Where bad elements are left out by the decode, the shuffle would draw from others.
  if (graph.skip_errors) return false;
  bool changed = false;
  for (size_t i = 0; i + 1 < graph.nodes.size(); ++i) {
    for (size_t at = i + 1; at > 0; --at) {
      const auto* const map = std::get_if<MapSpec>(&graph.nodes[at - 1].stage.kind);
      if (map == nullptr || !map->deterministic ||
          !std::holds_alternative<ShuffleSpec>(graph.nodes[at].stage.kind)) {
        break;
      }
      const auto& ops = graph.nodes[at - 1].pieces.back().ops;
      const bool decodes = std::any_of(ops.begin(), ops.end(), [](const OpInstance& op) {
        return op.call.name().substr(0, 7) == "decode_";
      });
      // Past maps behind the decode too, but not past the decode of a map that has none.
      if (!decodes && at < 2) break;
      std::swap(graph.nodes[at - 1], graph.nodes[at]);
      changed = true;
    }
  }
  return changed;
}

}  // namespace stallscope::pipeline
