#include "analyzer/findings/op_cost.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace stallscope::findings {
namespace {

struct TypicalCost {
  std::string_view op;
  double us;
};

// One core of 3 GHz, this room's own pipeline.
constexpr std::array kTypical = {
    TypicalCost{"decode_jpeg", 850},  TypicalCost{"decode_png", 2'000},
    TypicalCost{"decode_csv", 5},     TypicalCost{"parse_example", 1},
    TypicalCost{"resize", 100},       TypicalCost{"random_resized_crop", 110},
    TypicalCost{"crop", 10},          TypicalCost{"flip", 10},
    TypicalCost{"color_jitter", 200}, TypicalCost{"normalize", 60},
    TypicalCost{"cast", 30},          TypicalCost{"one_hot", 1}};

double CostOf(const OpCall& op) {
  if (op.name() == "busy" || op.name() == "sleep") {
    return op.Number("us") / static_cast<double>(std::max<int64_t>(op.Integer("every"), 1));
  }
  const auto* known =
      std::find_if(kTypical.begin(), kTypical.end(),
                   [&](const TypicalCost& typical) { return typical.op == op.name(); });
  return known == kTypical.end() ? 0 : known->us;
}

}  // namespace

double ShareFrom(const std::vector<OpCall>& ops, size_t from) {
  double all = 0;
  double behind = 0;
  for (size_t i = 0; i < ops.size(); ++i) {
    const double cost = CostOf(ops[i]);
    all += cost;
    if (i >= from) behind += cost;
  }
  return all > 0 ? behind / all : 0;
}

}  // namespace stallscope::findings
