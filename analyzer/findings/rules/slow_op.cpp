// Row 17: one op of a job's own code takes most of what its loader does.
#include <algorithm>

#include "analyzer/attribution/waiting_ops.h"
#include "analyzer/findings/named_ops.h"
#include "analyzer/findings/rules/rule.h"
#include "analyzer/model/job_spec.h"

namespace stallscope::findings::slow_op {
namespace {

// TensorFlow runs a graph's operations in threads of its own, which compute while the one that is
// recorded waits for them.
bool ComputesElsewhere(const Case& c, StageId stage) {
  const LoaderId loader = c.run.stages[stage.value].loader;
  return loader.value < c.run.loaders.size() && model::IsTfData(c.run.loaders[loader.value].info) &&
         !OpsOfFamily(c, OpFamily::kPython) && !OpsOfFamily(c, OpFamily::kReadFile);
}

// Of its time off the CPU, as much as the stall waited for: not for a core, or for the interpreter
// that another thread had. `share`: the op's, of step time.
double WaitedFor(const Case& c, StageId stage, const attribution::OpUse& op, double share) {
  if (op.ns <= 0 || share <= 0 || ComputesElsewhere(c, stage)) return 0;
  const double off = 1 - static_cast<double>(op.cpu_ns) / static_cast<double>(op.ns);
  return std::min(off, Blamed(c, stage, {Cause::kBlocked}) / share);
}

// A sampler of torch's own, whose calls are no ops.
void CheckSampler(const Case& c, StageId stage, std::vector<Draft>& drafts) {
  const double blamed = BlamedForWork(c, stage);
  // Without a core, a cheap one waits as long.
  if (blamed - Blamed(c, stage, {Cause::kCpuContention}) < kModerateShare) return;
  Draft draft = About(c, stage, blamed,
                      fmt::format("{} of step time goes to choosing which elements are next, which "
                                  "no worker does",
                                  Percent(blamed)));
  if (PassesOf(c, c.run.stages[stage.value].loader).OnePerStep()) {
    RecommendOneIterator(draft);
  } else {
    RecommendUnpriced(draft,
                      "choose them at less cost: all of a pass in one call, from weights that "
                      "stay, and not more of them than a pass needs",
                      Patch(), "stallscope cannot predict how much cheaper it could be");
  }
  drafts.push_back(std::move(draft));
}

// What few calls show may be chance: the finding names their number.
std::string RestsOn(const attribution::OpUse& op) {
  if (op.count >= kEnoughCalls) return "";
  return fmt::format(", measured only {}", Counted(op.count, "time"));
}

// How long it takes. In a job's Python, many short calls are recorded as one, and watching them
// makes them longer: an op's part of the time is measured, and what its stage takes when nobody
// watches.
std::string TimeOf(const Case& c, const attribution::StageUse& use, const attribution::OpUse& op) {
  const trace::StageInfo& stage = c.run.stages[use.stage.value];
  const bool watched = stage.loader.value < c.run.loaders.size() &&
                       !model::IsTfData(c.run.loaders[stage.loader.value].info);
  if (watched && use.service_ns.mean > 0) {
    const double share = attribution::ShareOfStage(op, use.sampled_ns).value_or(0);
    return fmt::format("{} of each {} in {}", Duration(share * use.service_ns.mean),
                       Duration(use.service_ns.mean), stage.name);
  }
  return fmt::format("{} per call, {}",
                     Duration(static_cast<double>(op.ns) / static_cast<double>(op.count)),
                     Counted(op.count, "call"));
}

// "augment (train.py:7)", of an op that is called "waiting for augment"; nothing for others.
std::string PooledFunction(const attribution::OpUse& op, const std::string& name) {
  return op.name.starts_with(attribution::kWaitsForPool)
             ? name.substr(attribution::kWaitsForPool.size())
             : "";
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  for (const auto& stage : c.run.stages) {
    const attribution::StageUse* const use = UseOf(c, stage.id);
    if (!stage.loader.known() || use == nullptr) continue;
    if (use->ops.empty() && IsSampler(c, stage.id)) CheckSampler(c, stage.id, drafts);
    if (use->ops.empty()) continue;
    const double blamed = BlamedForWork(c, stage.id) + TakenBy(c, stage.id);
    const attribution::OpUse& op = use->ops.front();
    const double of_stage = attribution::ShareOfStage(op, use->sampled_ns).value_or(0);
    if (blamed < kModerateShare || of_stage < kSlowOpShare) continue;
    const std::string name = OpWithPlace(op);
    // An imported profile does not show when a thread was on a core.
    const double waited = KnowsCpu(*use) ? WaitedFor(c, stage.id, op, blamed * of_stage) : 0;
    Draft draft = About(c, stage.id, blamed * of_stage,
                        fmt::format("{} of the time in {} goes to {}{}", Percent(of_stage),
                                    stage.name, name, RestsOn(op)));
    draft.finding.where = {op.file, op.line};
    for (size_t i = 0; i < use->ops.size() && i < kOpsShown; ++i) {
      const attribution::OpUse& shown = use->ops[i];
      Show(draft, Evidence::Kind::kSpans,
           fmt::format("{}: {}", OpWithPlace(shown), TimeOf(c, *use, shown)));
    }
    for (size_t i = 0; i < op.lines.size() && i < kLinesShown; ++i) {
      const attribution::OpLine& line = op.lines[i];
      if (line.share < kModerateShare) break;
      Show(draft, Evidence::Kind::kSpans,
           fmt::format("{}: {} of {}, measured {}", words::PlaceInCode(op.file, line.line),
                       Percent(line.share), op.name, Counted(line.samples, "time")));
    }
    const bool held = attribution::IsHeldLock(op.name);
    if (held || (attribution::TakesFileLock(op.name) && waited >= 0.5)) {
      RecommendUnpriced(
          draft,
          fmt::format("take {} for less of the work: while one worker has it, the others wait",
                      held ? SharedLockOf(c, stage.id) : "the lock of " + name),
          Patch(), "stallscope cannot predict how much of the work needs the lock");
      drafts.push_back(std::move(draft));
      continue;
    }
    const std::string pooled = PooledFunction(op, name);
    if (!pooled.empty()) {
      RecommendUnpriced(draft,
                        fmt::format("make {} cheaper, or let the job's pool run more of it at "
                                    "once, ahead of the batch that needs it",
                                    pooled),
                        Patch(), kOwnPool);
      drafts.push_back(std::move(draft));
      continue;
    }
    RecommendUnpriced(
        draft,
        waited < 0.5 ? fmt::format("make {} cheaper, or do its work once, before training", name)
                     : fmt::format("{} is off the CPU for {} of its time: let it wait less, or "
                                   "let more workers wait in parallel",
                                   name, Percent(waited)),
        Patch(), "stallscope cannot predict how much cheaper the op could be");
    drafts.push_back(std::move(draft));
  }
}

}  // namespace

extern const Rule kRule = {
    .id = "slow-op", .row = 17, .shortens = Parts(Category::kInputStall), .check = Check};

}  // namespace stallscope::findings::slow_op
