#include "replay/workload/known_ops.h"

#include <algorithm>

#include "analyzer/spec/ops.h"

namespace stallscope::replay {
namespace {

bool IsKnown(const std::string& text) {
  const auto op = ParseOp(text);
  return op.ok() && (op.value().name() == "busy" || op.value().name() == "sleep");
}

Cost CostOf(const std::string& text) {
  const auto op = ParseOp(text);
  // On average: only one in `every` elements pays.
  const double ns = op.value().Number("us") * 1e3 /
                    static_cast<double>(std::max<int64_t>(1, op.value().Integer("every")));
  Cost cost;
  (op.value().name() == "busy" ? cost.cpu_ns : cost.blocked_ns) = static_cast<float>(ns);
  return cost;
}

// Takes the ops whose cost is known out of the list, and adds it up.
Cost TakeKnown(std::vector<std::string>& ops) {
  Cost sum;
  for (const std::string& op : ops) {
    if (!IsKnown(op)) continue;
    const Cost cost = CostOf(op);
    sum.cpu_ns += cost.cpu_ns;
    sum.blocked_ns += cost.blocked_ns;
  }
  ops.erase(std::remove_if(ops.begin(), ops.end(), IsKnown), ops.end());
  return sum;
}

}  // namespace

std::optional<Cost> KnownDifference(const std::vector<std::string>& before,
                                    const std::vector<std::string>& now) {
  std::vector<std::string> rest_before = before;
  std::vector<std::string> rest_now = now;
  const Cost had = TakeKnown(rest_before);
  const Cost has = TakeKnown(rest_now);
  if (rest_before != rest_now) return std::nullopt;
  Cost difference;
  difference.cpu_ns = has.cpu_ns - had.cpu_ns;
  difference.blocked_ns = has.blocked_ns - had.blocked_ns;
  return difference;
}

}  // namespace stallscope::replay
