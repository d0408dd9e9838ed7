// What treats values one by one moves behind the batch, and is done for the whole batch at once.
#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "collectors/pipeline/graph.h"

namespace stallscope::pipeline {
namespace {

bool ForEachValue(const OpInstance& op) {
  const std::string_view name = op.call.name();
  return name == "normalize" || name == "cast" || name == "one_hot";
}

bool MakesOneSize(const OpInstance& op) {
  const std::string_view name = op.call.name();
  return name == "resize" || name == "crop" || name == "random_resized_crop";
}

// Whether all elements have one shape once these ops are done: else the batch would fail where
// the map does not.
bool OneSizeBefore(const Graph& graph, size_t node, size_t ops_of_last) {
  for (size_t i = 0; i <= node; ++i) {
    const auto& pieces = graph.nodes[i].pieces;
    for (size_t p = 0; p < pieces.size(); ++p) {
      const bool last = i == node && p + 1 == pieces.size();
      const size_t count = last ? ops_of_last : pieces[p].ops.size();
      if (std::any_of(pieces[p].ops.begin(), pieces[p].ops.begin() + static_cast<ptrdiff_t>(count),
                      MakesOneSize)) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace

bool Vectorise(Graph& graph) {
  if (graph.skip_errors) return false;
  for (size_t i = 0; i + 1 < graph.nodes.size(); ++i) {
    const auto* const map = std::get_if<MapSpec>(&graph.nodes[i].stage.kind);
    if (map == nullptr || !std::holds_alternative<BatchSpec>(graph.nodes[i + 1].stage.kind)) {
      continue;
    }
    MapPiece& piece = graph.nodes[i].pieces.back();
    size_t first = piece.ops.size();
    while (first > 0 && ForEachValue(piece.ops[first - 1])) --first;
    if (first == piece.ops.size() || !OneSizeBefore(graph, i, first)) return false;
    Node whole{graph.nodes[i].stage, {{piece.name, {}}}, true};
    std::move(piece.ops.begin() + static_cast<ptrdiff_t>(first), piece.ops.end(),
              std::back_inserter(whole.pieces[0].ops));
    piece.ops.resize(first);
    graph.nodes.insert(graph.nodes.begin() + static_cast<ptrdiff_t>(i) + 2, std::move(whole));
    if (first == 0 && graph.nodes[i].pieces.size() == 1) {
      graph.nodes.erase(graph.nodes.begin() + static_cast<ptrdiff_t>(i));
    }
    return true;
  }
  return false;
}

}  // namespace stallscope::pipeline
