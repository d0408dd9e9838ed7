#include "analyzer/plan/rewrites.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace stallscope::plan {
namespace {

// A shuffle behind a decode moves in front of it, where elements are small: a buffer of 1,000 JPEGs
// takes 100 MB, one of 1,000 images 560 MB.
bool ShuffleBeforeDecode(Graph& graph) {
  // Where a decode leaves bad elements out, the shuffle would draw from others.
  if (graph.skip_errors) return false;
  bool changed = false;
  for (size_t i = 1; i < graph.nodes.size(); ++i) {
    if (As<ShuffleSpec>(graph.nodes[i]) == nullptr) continue;
    // Past all maps in front of it: those behind the decode stand in its way.
    for (size_t at = i; at > 0; --at) {
      const auto* const map = As<MapSpec>(graph.nodes[at - 1]);
      if (map == nullptr || !map->deterministic) break;
      std::swap(graph.nodes[at - 1], graph.nodes[at]);
      changed = true;
    }
  }
  return changed;
}

bool Fold(std::vector<OpInstance>& ops) {
  bool changed = false;
  for (;;) {
    std::vector<OpCall> calls;
    for (const OpInstance& op : ops) calls.push_back(op.call);
    if (const std::optional<IdleOp> idle = FindIdleOp(calls)) {
      ops.erase(ops.begin() + static_cast<ptrdiff_t>(idle->op));
    } else if (std::optional<FoldedPair> folded = FindFoldedPair(calls)) {
      ops[folded->first + 1].call = std::move(folded->as);
      ops.erase(ops.begin() + static_cast<ptrdiff_t>(folded->first));
    } else {
      return changed;
    }
    changed = true;
  }
}

// Drops ops that change nothing next to their neighbors, and folds constants of neighbors.
bool FoldConstants(Graph& graph) {
  bool changed = false;
  for (Node& node : graph.nodes) {
    for (MapPiece& piece : node.pieces) changed = Fold(piece.ops) || changed;
  }
  return changed;
}

bool SinkWithin(std::vector<OpInstance>& ops) {
  bool changed = false;
  for (size_t i = ops.size(); i-- > 0;) {
    for (size_t at = i; at + 1 < ops.size() && Widens(ops[at].call) && MovesOnly(ops[at + 1].call);
         ++at) {
      std::swap(ops[at], ops[at + 1]);
      changed = true;
    }
  }
  return changed;
}

bool OnlyHolds(const Node& node) {
  return As<ShuffleSpec>(node) != nullptr || As<PrefetchSpec>(node) != nullptr ||
         As<CacheSpec>(node) != nullptr || As<RepeatSpec>(node) != nullptr ||
         As<ShardSpec>(node) != nullptr;
}

// The next map if everything in between only holds elements, else the end; the end also if the two
// change different inputs.
size_t NextMap(const Graph& graph, size_t from) {
  const size_t input = graph.nodes[from].pieces.back().input;
  for (size_t i = from + 1; i < graph.nodes.size(); ++i) {
    if (As<MapSpec>(graph.nodes[i]) != nullptr) {
      return graph.nodes[i].pieces.front().input == input ? i : graph.nodes.size();
    }
    if (!OnlyHolds(graph.nodes[i])) break;
  }
  return graph.nodes.size();
}

bool SinkIntoNext(Graph& graph, size_t from) {
  std::vector<OpInstance>& ops = graph.nodes[from].pieces.back().ops;
  const size_t next = NextMap(graph, from);
  // A map keeps at least one op: an empty one would still cost a hand-over.
  if (next == graph.nodes.size() || ops.size() < 2 || !Widens(ops.back().call)) return false;
  size_t first = ops.size();
  while (first > 1 && Widens(ops[first - 1].call)) --first;
  std::vector<OpInstance>& into = graph.nodes[next].pieces.front().ops;
  const auto begin = ops.begin() + static_cast<ptrdiff_t>(first);
  into.insert(into.begin(), std::make_move_iterator(begin), std::make_move_iterator(ops.end()));
  ops.erase(begin, ops.end());
  return true;
}

// Ops that widen values move behind ops that only move them: a crop or flip of bytes costs a
// quarter of one of floats, and so does the memory of a shuffle or cache in between.
bool CastLate(Graph& graph) {
  bool changed = false;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (As<MapSpec>(graph.nodes[i]) == nullptr) continue;
    changed = SinkWithin(graph.nodes[i].pieces.back().ops) || changed;
    changed = SinkIntoNext(graph, i) || changed;
  }
  return changed;
}

// Two maps in a row become one, so each element is handed over once instead of twice.
bool FuseMaps(Graph& graph) {
  bool changed = false;
  for (size_t i = 0; i + 1 < graph.nodes.size();) {
    Node& first = graph.nodes[i];
    Node& second = graph.nodes[i + 1];
    auto* const map = std::get_if<MapSpec>(&first.stage.kind);
    const auto* const next = As<MapSpec>(second);
    // Fusing an ordered map with an unordered one would add order or lose it.
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

void SetCrop(OpInstance& op) {
  for (size_t i = 0; i < op.call.op->parameters.size(); ++i) {
    if (op.call.op->parameters[i].name == "crop") op.call.arguments[i] = true;
  }
}

// In a fused map the crop may be the next piece's first op; it moves to the decode's piece.
void TakeCropOver(std::vector<MapPiece>& pieces) {
  for (size_t p = 0; p + 1 < pieces.size(); ++p) {
    auto& ops = pieces[p].ops;
    auto& next = pieces[p + 1].ops;
    if (pieces[p].input != pieces[p + 1].input || ops.empty() || next.empty() ||
        !IsWholeDecode(ops.back().call) || !IsCrop(next.front().call)) {
      continue;
    }
    ops.push_back(std::move(next.front()));
    next.erase(next.begin());
  }
}

// A decode with a crop behind it decodes no more than the crop keeps. The pixels are those of a
// full decode; damage outside of the crop goes unnoticed.
bool DecodeOnlyCrop(Graph& graph) {
  bool changed = false;
  for (Node& node : graph.nodes) {
    TakeCropOver(node.pieces);
    for (MapPiece& piece : node.pieces) {
      for (size_t i = 0; i + 1 < piece.ops.size(); ++i) {
        if (!IsWholeDecode(piece.ops[i].call) || !IsCrop(piece.ops[i + 1].call)) continue;
        SetCrop(piece.ops[i]);
        changed = true;
      }
    }
  }
  return changed;
}

// Whether all elements have one shape after these ops, in the input of the last. Otherwise the
// batch would fail where the map does not.
bool OneSizeBefore(const Graph& graph, size_t node, size_t ops_of_last) {
  const size_t input = graph.nodes[node].pieces.back().input;
  for (size_t i = 0; i <= node; ++i) {
    const auto& pieces = graph.nodes[i].pieces;
    for (size_t p = 0; p < pieces.size(); ++p) {
      if (pieces[p].input != input) continue;
      const bool last = i == node && p + 1 == pieces.size();
      const size_t count = last ? ops_of_last : pieces[p].ops.size();
      if (std::any_of(pieces[p].ops.begin(), pieces[p].ops.begin() + static_cast<ptrdiff_t>(count),
                      [](const OpInstance& op) { return MakesOneSize(op.call); })) {
        return true;
      }
    }
  }
  return false;
}

// Moves ops that have a form for whole batches behind the batch: as many from the map's end as
// leave the batch with elements of one size.
bool Vectorize(Graph& graph) {
  if (graph.skip_errors) return false;
  for (size_t i = 0; i + 1 < graph.nodes.size(); ++i) {
    const auto* const map = As<MapSpec>(graph.nodes[i]);
    if (map == nullptr || As<BatchSpec>(graph.nodes[i + 1]) == nullptr) {
      continue;
    }
    MapPiece& piece = graph.nodes[i].pieces.back();
    size_t first = piece.ops.size();
    while (first > 0 && piece.ops[first - 1].call.op->batched) --first;
    while (first < piece.ops.size() && !OneSizeBefore(graph, i, first)) ++first;
    if (first == piece.ops.size()) return false;
    Node whole{graph.nodes[i].stage, {{piece.name, {}, piece.input}}, true};
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

// A map and the batch behind it become one: workers write each result into its place in the batch,
// and no sample is copied.
bool JoinMapAndBatch(Graph& graph) {
  // A bad sample would leave a hole that the next one cannot fill.
  if (graph.skip_errors) return false;
  bool changed = false;
  for (size_t i = 0; i + 1 < graph.nodes.size(); ++i) {
    const auto* const map = As<MapSpec>(graph.nodes[i]);
    auto* const batch = std::get_if<BatchSpec>(&graph.nodes[i + 1].stage.kind);
    // Workers of an unordered map would fill batches in another order than the map alone.
    if (map == nullptr || batch == nullptr || !map->deterministic) continue;
    batch->parallelism.automatic = batch->parallelism.automatic || map->parallelism.automatic;
    batch->parallelism.value = std::max(batch->parallelism.value, map->parallelism.value);
    graph.nodes[i + 1].pieces = std::move(graph.nodes[i].pieces);
    graph.nodes.erase(graph.nodes.begin() + static_cast<ptrdiff_t>(i));
    changed = true;
  }
  return changed;
}

}  // namespace

// The order matters: casts move before maps are fused, because a cast may move into the next map;
// decoding only the crop comes after fusing, because the crop may come from the next map; joining a
// map with its batch comes last, when what is left of the map is settled.
void Rewrite(const RewritesSpec& asked, Graph& graph) {
  const auto apply = [&](bool wanted, const char* name, bool (*rewrite)(Graph&)) {
    if (wanted && rewrite(graph)) graph.rewrites.emplace_back(name);
  };
  apply(asked.shuffle_before_decode, "shuffle_before_decode", &ShuffleBeforeDecode);
  apply(asked.constant_folding, "constant_folding", &FoldConstants);
  apply(asked.narrow_dtype_late_cast, "narrow_dtype_late_cast", &CastLate);
  apply(asked.map_fusion, "map_fusion", &FuseMaps);
  apply(asked.crop_aware_decode, "crop_aware_decode", &DecodeOnlyCrop);
  apply(asked.vectorise, "vectorise", &Vectorize);
  apply(asked.map_and_batch, "map_and_batch", &JoinMapAndBatch);
}

}  // namespace stallscope::plan
