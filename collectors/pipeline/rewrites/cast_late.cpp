// What makes values wider moves behind what only moves them about: a crop and a flip of bytes cost
// a quarter of those of floats, and so do a shuffle's and a cache's memory.
#include <iterator>
#include <utility>

#include "collectors/pipeline/graph.h"

namespace stallscope::pipeline {
namespace {

bool Widens(const OpInstance& op) {
  if (op.call.name() == "normalize") return true;
  return op.call.name() == "cast" && op.call.Word("dtype") != "uint8";
}

bool MovesOnly(const OpInstance& op) {
  return op.call.name() == "flip" || op.call.name() == "crop";
}

bool SinkWithin(std::vector<OpInstance>& ops) {
  bool changed = false;
  for (size_t i = ops.size(); i-- > 0;) {
    for (size_t at = i; at + 1 < ops.size() && Widens(ops[at]) && MovesOnly(ops[at + 1]); ++at) {
      std::swap(ops[at], ops[at + 1]);
      changed = true;
    }
  }
  return changed;
}

bool OnlyHolds(const Node& node) {
  return std::holds_alternative<ShuffleSpec>(node.stage.kind) ||
         std::holds_alternative<PrefetchSpec>(node.stage.kind) ||
         std::holds_alternative<CacheSpec>(node.stage.kind) ||
         std::holds_alternative<RepeatSpec>(node.stage.kind) ||
         std::holds_alternative<ShardSpec>(node.stage.kind);
}

// The next map, where everything in between only holds elements; else the end.
size_t NextMap(const Graph& graph, size_t from) {
  for (size_t i = from + 1; i < graph.nodes.size(); ++i) {
    if (std::holds_alternative<MapSpec>(graph.nodes[i].stage.kind)) return i;
    if (!OnlyHolds(graph.nodes[i])) break;
  }
  return graph.nodes.size();
}

bool SinkIntoNext(Graph& graph, size_t from) {
  std::vector<OpInstance>& ops = graph.nodes[from].pieces.back().ops;
  const size_t next = NextMap(graph, from);
  // A map keeps at least one op: without any it would be a stage that does nothing.
  if (next == graph.nodes.size() || ops.size() < 2 || !Widens(ops.back())) return false;
  size_t first = ops.size();
  while (first > 1 && Widens(ops[first - 1])) --first;
  std::vector<OpInstance>& into = graph.nodes[next].pieces.front().ops;
  const auto begin = ops.begin() + static_cast<ptrdiff_t>(first);
  into.insert(into.begin(), std::make_move_iterator(begin), std::make_move_iterator(ops.end()));
  ops.erase(begin, ops.end());
  return true;
}

}  // namespace

bool CastLate(Graph& graph) {
  bool changed = false;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!std::holds_alternative<MapSpec>(graph.nodes[i].stage.kind)) continue;
    changed = SinkWithin(graph.nodes[i].pieces.back().ops) || changed;
    changed = SinkIntoNext(graph, i) || changed;
  }
  return changed;
}

}  // namespace stallscope::pipeline
