#include <fmt/format.h>

#include "collectors/pipeline/ops/make.h"

namespace stallscope::pipeline {

Result<std::vector<OpPtr>> MakeOps(std::span<const OpInstance> calls, const FeatureKeys& keys) {
  std::vector<OpPtr> ops;
  for (size_t i = 0; i < calls.size(); ++i) {
    const OpInstance* const next = i + 1 < calls.size() ? &calls[i + 1] : nullptr;
    // A decode finds the image in the record by itself, and need not have it copied to the front.
    if (calls[i].call.name() == "parse_example" && next != nullptr &&
        (next->call.name() == "decode_jpeg" || next->call.name() == "decode_png")) {
      continue;
    }
    bool took_next = false;
    OpPtr op = MakeDecodeOp(calls[i], next, keys, took_next);
    if (op == nullptr) op = MakeGeometryOp(calls[i]);
    if (op == nullptr) op = MakeValueOp(calls[i]);
    if (op == nullptr) op = MakeCostOp(calls[i]);
    if (op == nullptr) {
      return Error{ErrorKind::kUsage,
                   fmt::format("'{}' cannot stand in a map", calls[i].call.name()),
                   calls[i].call.Text(), "put it into a filter"};
    }
    ops.push_back(std::move(op));
    if (took_next) ++i;
  }
  return ops;
}

}  // namespace stallscope::pipeline
