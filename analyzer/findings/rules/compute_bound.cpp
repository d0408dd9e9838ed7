// The input is fast enough: what bounds the run instead, since no change to the input would help.
#include <algorithm>
#include <cmath>

#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::compute_bound {
namespace {

// More kernels than these are in the table of kernels.
constexpr size_t kNamedKernels = 3;

void ShowKernels(const Case& c, Draft& draft) {
  for (const auto& kernel : c.attribution.kernels) {
    if (draft.finding.evidence.size() >= kNamedKernels) break;
    const double each = static_cast<double>(kernel.ns) / static_cast<double>(kernel.count);
    Show(draft, Evidence::Kind::kKernel,
         fmt::format("{}: {} of kernel time, {} of {}", c.run.Text(kernel.name),
                     Percent(kernel.fraction), Counted(kernel.count, "launch", "launches"),
                     Duration(each)));
  }
}

// What the measured steps do not show: "; the 25 steps before them took 9.76 s".
std::string WhatElseTakesTime(const Case& c) {
  std::string text;
  const attribution::Window& window = c.attribution.window;
  if (window.warmup_steps > 1 && !c.run.rows.steps.empty()) {
    const int64_t before = window.start_ns - c.run.rows.steps.front().requested_ns;
    if (static_cast<double>(before) >= kLongWarmUp * static_cast<double>(window.ns())) {
      text += fmt::format(
          "; the {} steps before those, which count as warm-up, took {}: analyze "
          "--first-epoch is about the first epoch",
          window.warmup_steps, Duration(static_cast<double>(before)));
    }
  }
  if (!c.attribution.beside.empty() && c.attribution.beside.front().fraction >= kModerateShare) {
    const attribution::BesideUse& beside = c.attribution.beside.front();
    text += fmt::format("; {} takes {} of the time", beside.name, Percent(beside.fraction));
  }
  return text;
}

std::string WhatInputCouldGain(const Case& c) {
  if (!c.attribution.breakdown[At(Category::kInputStall)].has_value()) {
    return "this trace does not show whether it waits for input";
  }
  const double waits = Share(c, Category::kInputStall);
  const std::string faster = fmt::format("a faster input would make this run at most {} as fast",
                                         words::Factor(1 / (1 - waits)));
  if (const double taken = c.attribution.cpu.taken_by_input.value_or(0);
      ReadyWithoutCore(c.attribution) > 0 && taken >= kModerateShare) {
    return fmt::format(
        "for {} of step time the input has these cores: one that computes less would leave them to "
        "the trainer{}",
        Percent(taken), waits < kModerateShare ? "" : ", and " + faster);
  }
  if (waits < kModerateShare) {
    const std::string other = WhatElseTakesTime(c);
    return other.empty() ? "no change to the input makes this run faster"
                         : "no change to the input makes these steps faster" + other;
  }
  return faster;
}

// Of a job's step time, what its loop spends on a batch after its optimizer has stepped.
double BehindOptimizer(const Case& c) {
  for (const attribution::StageUse& use : c.attribution.stages) {
    if (model::IsJob(c.run) && model::IsTrainer(c.run, use.stage) && use.elements > 0) {
      return std::max(0.0, Share(c, Category::kCompute) - use.utilization);
    }
  }
  return 0;
}

// "the device computes for 93.0% of step time"; without a device track the host's time counts.
std::string WhoComputes(const Case& c) {
  const std::string share = Percent(Share(c, Category::kCompute));
  if (!c.attribution.devices.empty()) {
    return fmt::format("the device computes for {} of step time", share);
  }
  std::string text =
      fmt::format("the trainer computes on the host: its own work takes {} of step time", share);
  if (const double waits = ReadyWithoutCore(c.attribution); waits > 0) {
    text += fmt::format(
        ", and for up to {} it is ready without a core: fewer busy threads, or more "
        "cores, would help",
        Percent(waits));
  }
  if (const double behind = BehindOptimizer(c); behind >= kModerateShare) {
    text += fmt::format(
        ", and {} comes after the optimizer's step: metrics, logging or checkpoints, which are not "
        "needed in each step, or waits for a device that this trace does not show",
        Percent(behind));
  }
  return text;
}

std::string WhatBounds(const Case& c) {
  std::string text;
  if (!c.attribution.kernels.empty()) {
    const auto& first = c.attribution.kernels.front();
    text += fmt::format("; the kernel {} alone takes {} of kernel time", c.run.Text(first.name),
                        Percent(first.fraction));
  }
  if (c.attribution.idle.launch_queue_mean > 0 && Share(c, Category::kLaunch) < kModerateShare) {
    text += fmt::format("; {:.0f} kernels are queued on average, so launching keeps up",
                        c.attribution.idle.launch_queue_mean);
  }
  if (c.spec.has_value()) {
    text += fmt::format("; precision {}", ToWord(c.spec->trainer.precision));
  }
  return text;
}

void Check(const Case& c, const Load* load, std::vector<Draft>& drafts) {
  if (c.verdict.bound != Bound::kCompute) return;
  const double share = Share(c, Category::kCompute);
  Draft draft =
      About(c, StageId::None(), share,
            fmt::format("{}; {}{}", WhoComputes(c), WhatInputCouldGain(c), WhatBounds(c)));
  draft.finding.severity = Severity::kInfo;
  ShowKernels(c, draft);
  // A trace that does not show how many samples a step has is measured in steps.
  if (load != nullptr && c.attribution.throughput.has_value()) {
    Show(draft, Evidence::Kind::kStep,
         fmt::format(
             "a step is {}; a larger batch would use the device better if it is not saturated yet",
             Counted(static_cast<uint64_t>(std::llround(load->batch)), "sample")));
  }
  drafts.push_back(std::move(draft));
}

}  // namespace

extern const Rule kRule = {
    .id = "compute-bound", .row = 0, .shortens = Parts(Category::kCompute), .check = Check};

}  // namespace stallscope::findings::compute_bound
