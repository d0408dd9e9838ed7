// A decode with a crop behind it decodes no more than the crop keeps. The pixels are those of a
// full decode; what is not seen any more is damage outside of the crop.
#include <iterator>

#include "collectors/pipeline/graph.h"

namespace stallscope::pipeline {
namespace {

bool IsCropOp(const OpInstance& op) {
  return op.call.name() == "crop" || op.call.name() == "random_resized_crop";
}

bool IsWholeDecode(const OpInstance& op) {
  return op.call.name() == "decode_jpeg" && !op.call.Flag("crop");
}

void SetCrop(OpInstance& op) {
  for (size_t i = 0; i < op.call.op->parameters.size(); ++i) {
    if (op.call.op->parameters[i].name == "crop") op.call.arguments[i] = true;
  }
}

// In a fused map the crop may be the next piece's first op: it goes over to the decode's.
void TakeCropOver(std::vector<MapPiece>& pieces) {
  for (size_t p = 0; p + 1 < pieces.size(); ++p) {
    auto& ops = pieces[p].ops;
    auto& next = pieces[p + 1].ops;
    if (ops.empty() || next.empty() || !IsWholeDecode(ops.back()) || !IsCropOp(next.front())) {
      continue;
    }
    ops.push_back(std::move(next.front()));
    next.erase(next.begin());
  }
}

}  // namespace

bool DecodeOnlyCrop(Graph& graph) {
  bool changed = false;
  for (Node& node : graph.nodes) {
    TakeCropOver(node.pieces);
    for (MapPiece& piece : node.pieces) {
      for (size_t i = 0; i + 1 < piece.ops.size(); ++i) {
        if (!IsWholeDecode(piece.ops[i]) || !IsCropOp(piece.ops[i + 1])) continue;
        SetCrop(piece.ops[i]);
        changed = true;
      }
    }
  }
  return changed;
}

}  // namespace stallscope::pipeline
