// Row 17: casts whose work is done anyway.
#include <fmt/format.h>

#include "analyzer/findings/facts.h"
#include "analyzer/findings/rules/rules.h"
#include "analyzer/findings/spec_view.h"
#include "analyzer/findings/thresholds.h"
#include "analyzer/findings/workers.h"

namespace stallscope::findings {
namespace {

bool IsCastTo(const OpCall& op, std::string_view dtype) {
  return op.name() == "cast" && op.Word("dtype") == dtype;
}

// normalize computes in float32 whatever it gets, and gives float32.
bool OneIsIdle(const OpCall& first, const OpCall& second) {
  if (IsCastTo(first, "float32") && second.name() == "normalize") return true;
  if (first.name() == "normalize" && IsCastTo(second, "float32")) return true;
  return first.name() == "cast" && IsCastTo(second, first.Word("dtype"));
}

std::string IdlePair(const MapSpec& map) {
  const std::vector<OpCall> ops = OpsOf(map);
  for (size_t i = 0; i + 1 < ops.size(); ++i) {
    if (OneIsIdle(ops[i], ops[i + 1])) return ops[i].Text() + " and " + ops[i + 1].Text();
  }
  return "";
}

}  // namespace

void RedundantWork(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!c.spec.has_value() || c.spec->rewrites.constant_folding) return;
  if (!Worth(c, attribution::Category::kInputStall)) return;
  for (const StageSpec& stage : c.spec->stages) {
    const auto* map = As<MapSpec>(stage);
    const StageId id = StageNamed(c, stage.name);
    if (map == nullptr || BlamedForWork(c, id) < kModerateShare) continue;
    const std::string pair = IdlePair(*map);
    if (pair.empty()) continue;
    Draft draft = About("redundant-work", c, id, BlamedForWork(c, id),
                        fmt::format("{} does {}, of which one is enough", stage.name, pair));
    Show(
        draft, Evidence::Kind::kSpans,
        fmt::format("{}: {} of step time waits for it", stage.name, Percent(BlamedForWork(c, id))));
    // A pass over the values; how large a part of the map it is, the run does not tell.
    const auto ops = static_cast<double>(map->ops.size());
    Recommend(draft, "leave out what is done anyway", Setting("rewrites.constant_folding", true),
              WithTimeTimes(id, {1 - 0.2 / ops, 1 - 0.4 / ops, 1 - 1 / ops}));
    draft.finding.stands_alone = true;
    drafts.push_back(std::move(draft));
    return;
  }
}

}  // namespace stallscope::findings
