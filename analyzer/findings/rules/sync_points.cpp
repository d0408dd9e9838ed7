// No row of its own: host and device wait for each other in every step.
#include <algorithm>

#include "analyzer/attribution/window.h"
#include "analyzer/findings/named_ops.h"
#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::sync_points {
namespace {

// The device has always done what little it was given when the host waits for it: the time goes to
// the launches behind each read, which find an idle device.
void ByReads(const Case& c, std::vector<Draft>& drafts) {
  if (!LaunchesAreWorth(c)) return;
  const std::optional<NamedOp> reads = OpsOfFamily(c, OpFamily::kReadValue);
  const std::optional<NamedOp> waits = OpsOfFamily(c, OpFamily::kStreamSync);
  if (!reads.has_value() || !waits.has_value()) return;
  const size_t rows = attribution::WindowOfDevices(c.attribution.window).rows;
  const double each = static_cast<double>(std::min(reads->count, waits->count)) /
                      static_cast<double>(std::max<size_t>(1, rows));
  if (each < kManyReadsAStep) return;
  const double share = Share(c, Category::kLaunch);
  Draft draft = About(
      c, StageId::None(), share,
      fmt::format("the host reads {:.0f} values per step from the device, one by one: behind each "
                  "of them it launches work for an idle device, which takes {} of step time",
                  each, Percent(share)));
  Show(draft, Evidence::Kind::kKernel,
       fmt::format("{:.1f} kernels queued on average", c.attribution.idle.launch_queue_mean));
  RecommendUnpriced(
      draft, "keep the values on the device, and read them together, once in many steps", Patch(),
      "this run does not show how far the launches get ahead without the "
      "reads: make the change, record again and compare");
  drafts.push_back(std::move(draft));
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (c.verdict.bound == Bound::kInconclusive || c.verdict.bound == Bound::kCompute) return;
  const double share = Share(c, Category::kSync);
  if (share < kSyncShare) return ByReads(c, drafts);
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
    .shortens = Parts(Category::kLaunch, Category::kSync),
    .check = Check,
    .advice = {
        .tf_data = R"py(model.compile(optimizer, loss, steps_per_execution=50))py",
        .pytorch = R"py(if step % 50 == 0:  # .item() waits for the device
    print(loss.item()))py",
        .grain = R"py(if step % 50 == 0:  # float() waits for the device
    print(float(loss)))py",
    }};

}  // namespace stallscope::findings::sync_points
