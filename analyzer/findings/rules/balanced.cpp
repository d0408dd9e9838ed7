// Nothing is worth changing, which is worth saying; or several bounds are alike.
#include <string>

#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::balanced {
namespace {

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (c.verdict.bound != Bound::kBalanced) return;
  const bool several = Worth(c, Category::kInputStall) || Worth(c, Category::kTransfer) ||
                       Worth(c, Category::kLaunch) || Worth(c, Category::kCommunication);
  const double unseen = Share(c, Category::kOther);
  const double sync = Share(c, Category::kSync);
  const attribution::BesideUse* const beside =
      c.attribution.beside.empty() ? nullptr : &c.attribution.beside.front();
  std::string what = several ? "no single thing bounds this run" : "nothing is worth changing";
  if (!several && sync >= kSyncShare) {
    what = fmt::format("host and device wait for each other for {} of step time", Percent(sync));
  } else if (!several && beside != nullptr && beside->fraction >= kHighShare) {
    what = fmt::format("{} takes {} of the time, and nothing else is worth changing", beside->name,
                       Percent(beside->fraction));
  } else if (!several && unseen >= kHighShare) {
    what = fmt::format(
        "for {} of step time this trace shows nothing at work, and nothing else is worth changing",
        Percent(unseen));
  }
  Draft draft = About(
      c, StageId::None(), 0,
      fmt::format("{}: {} of step time", what,
                  KnownShares(c, {Category::kCompute, Category::kInputStall, Category::kTransfer,
                                  Category::kLaunch, Category::kCommunication})));
  draft.finding.severity = Severity::kInfo;
  drafts.push_back(std::move(draft));
}

}  // namespace

extern const Rule kRule = {.id = "balanced", .row = 0, .check = Check};

}  // namespace stallscope::findings::balanced
