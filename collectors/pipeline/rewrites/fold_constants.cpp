// Casts whose work is done anyway go: normalize computes in float32 whatever it gets, so a cast to
// float32 before or behind it adds nothing, and neither does the same cast twice.
#include "collectors/pipeline/graph.h"

namespace stallscope::pipeline {
namespace {

bool IsCastTo(const OpInstance& op, std::string_view dtype) {
  return op.call.name() == "cast" && op.call.Word("dtype") == dtype;
}

bool FirstIsIdle(const OpInstance& first, const OpInstance& second) {
  if (IsCastTo(first, "float32") && second.call.name() == "normalize") return true;
  return first.call.name() == "cast" && IsCastTo(second, first.call.Word("dtype"));
}

bool SecondIsIdle(const OpInstance& first, const OpInstance& second) {
  return first.call.name() == "normalize" && IsCastTo(second, "float32");
}

bool Fold(std::vector<OpInstance>& ops) {
  bool changed = false;
  for (size_t i = 0; i + 1 < ops.size();) {
    if (FirstIsIdle(ops[i], ops[i + 1])) {
      ops.erase(ops.begin() + static_cast<ptrdiff_t>(i));
    } else if (SecondIsIdle(ops[i], ops[i + 1])) {
      ops.erase(ops.begin() + static_cast<ptrdiff_t>(i) + 1);
    } else {
      ++i;
      continue;
    }
    changed = true;
    i = i > 0 ? i - 1 : 0;
  }
  return changed;
}

}  // namespace

bool FoldConstants(Graph& graph) {
  bool changed = false;
  for (Node& node : graph.nodes) {
    for (MapPiece& piece : node.pieces) changed = Fold(piece.ops) || changed;
  }
  return changed;
}

}  // namespace stallscope::pipeline
