// No row of its own: host and device wait for each other in every step.
#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::sync_points {
namespace {

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (c.verdict.bound == Bound::kInconclusive || c.verdict.bound == Bound::kCompute) return;
  const double share = Share(c, Category::kSync);
  if (share < kSyncShare) return;
  Draft draft = About(
      c, StageId::None(), share,
      fmt::format(
          "for {} of step time the device is idle while the host waits for it or reads from it",
          Percent(share)));
  Show(draft, Evidence::Kind::kKernel,
       fmt::format("{} of device idle time after a synchronization",
                   Duration(static_cast<double>(c.attribution.idle.sync_ns))));
  const bool knob = c.spec.has_value() && !c.spec->transfer.overlap;
  Recommend(draft, "read the loss less often, and issue the next step before this one is done",
            knob ? Setting("transfer.overlap", true) : Patch(),
            WithExposedTimes(Category::kSync, kLeftWithoutSync));
  drafts.push_back(std::move(draft));
}

}  // namespace

extern const Rule kRule = {
    .id = "sync-points",
    .row = 0,
    .check = Check,
    .advice = {
        .tf_data = R"py(model.compile(optimizer, loss, steps_per_execution=50))py",
        .pytorch = R"py(if step % 50 == 0:  # .item() waits for the device
    print(loss.item()))py",
        .grain = R"py(if step % 50 == 0:  # float() waits for the device
    print(float(loss)))py",
    }};

}  // namespace stallscope::findings::sync_points
