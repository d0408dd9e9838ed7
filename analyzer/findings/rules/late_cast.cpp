// Row 17: values are made wide before they are only moved about.
#include <fmt/format.h>

#include "analyzer/findings/facts.h"
#include "analyzer/findings/rules/rules.h"
#include "analyzer/findings/spec_view.h"
#include "analyzer/findings/thresholds.h"
#include "analyzer/findings/workers.h"

namespace stallscope::findings {
namespace {

bool MovesOnly(const OpCall& op) { return op.name() == "flip" || op.name() == "crop"; }

std::string EarlyPair(const MapSpec& map) {
  const std::vector<OpCall> ops = OpsOf(map);
  for (size_t i = 0; i + 1 < ops.size(); ++i) {
    if (Widens(ops[i]) && MovesOnly(ops[i + 1]))
      return ops[i].Text() + " before " + ops[i + 1].Text();
  }
  return "";
}

}  // namespace

void LateCast(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!c.spec.has_value() || c.spec->rewrites.narrow_dtype_late_cast) return;
  if (!Worth(c, attribution::Category::kInputStall)) return;
  for (const StageSpec& stage : c.spec->stages) {
    const auto* map = As<MapSpec>(stage);
    const StageId id = StageNamed(c, stage.name);
    if (map == nullptr || BlamedForWork(c, id) < kModerateShare) continue;
    const std::string pair = EarlyPair(*map);
    if (pair.empty()) continue;
    Draft draft = About("late-cast", c, id, BlamedForWork(c, id),
                        fmt::format("{} does {}: it moves four times the bytes", stage.name, pair));
    Show(
        draft, Evidence::Kind::kSpans,
        fmt::format("{}: {} of step time waits for it", stage.name, Percent(BlamedForWork(c, id))));
    const auto ops = static_cast<double>(map->ops.size());
    Recommend(draft, "make values wide last", Setting("rewrites.narrow_dtype_late_cast", true),
              WithTimeTimes(id, {1 - 0.2 / ops, 1 - 0.5 / ops, 1 - 1 / ops}));
    draft.finding.stands_alone = true;
    drafts.push_back(std::move(draft));
    return;
  }
}

}  // namespace stallscope::findings
