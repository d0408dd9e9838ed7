#include "analyzer/compare/side_by_side.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace stallscope::compare {
namespace {

using Runs = std::vector<RunSummary>;

bool AllPositive(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return v > 0; });
}

std::vector<double> Logs(const std::vector<double>& values) {
  std::vector<double> logs;
  for (double v : values) logs.push_back(std::log(v));
  return logs;
}

Change Bounded(double base, double now, const LogChange& change) {
  return {base, now, std::exp(change.at), std::exp(change.low), std::exp(change.high), true};
}

// Of a value that a run may lack; nothing where a whole side does.
std::optional<Change> ChangeOfKnown(
    const Runs& base, const Runs& now,
    const std::function<std::optional<double>(const RunSummary&)>& value) {
  const auto known = [&](const Runs& runs) {
    std::vector<double> values;
    for (const RunSummary& run : runs) {
      const std::optional<double> one = value(run);
      if (one && std::isfinite(*one)) values.push_back(*one);
    }
    return values;
  };
  const std::vector<double> base_values = known(base);
  const std::vector<double> now_values = known(now);
  if (base_values.empty() || now_values.empty()) return std::nullopt;
  return ChangeOf(base_values, now_values);
}

std::optional<Change> StepTimeChange(const RatedSides& rated, const Evidence& evidence,
                                     Statistic statistic) {
  const auto values = [&](const std::vector<StepSeries>& runs) {
    std::vector<double> list;
    for (const StepSeries& run : runs) list.push_back(ValueOf(run, statistic));
    return list;
  };
  const bool tail = statistic == Statistic::kP95 || statistic == Statistic::kP99;
  const auto too_few = [&](const std::vector<StepSeries>& runs) {
    return tail && std::any_of(runs.begin(), runs.end(), [](const StepSeries& run) {
             return run.ms.size() < attribution::kFewestForTails;
           });
  };
  if (evidence.basis == Basis::kSteps) {
    if (too_few(evidence.base_steps) || too_few(evidence.now_steps)) return std::nullopt;
    Change change = ChangeOf(values(evidence.base_steps), values(evidence.now_steps));
    if (change.base > 0 && change.now > 0) {
      const Reach& reach = evidence.reach[static_cast<size_t>(statistic)];
      change.low = change.ratio * std::exp(reach.below);
      change.high = change.ratio * std::exp(reach.above);
      change.bounded = true;
    }
    return change;
  }
  std::vector<StepSeries> base, now;
  for (const RatedRun& run : rated.base) {
    if (!run.steps.ms.empty()) base.push_back(run.steps);
  }
  for (const RatedRun& run : rated.now) {
    if (!run.steps.ms.empty()) now.push_back(run.steps);
  }
  if (base.empty() || now.empty() || too_few(base) || too_few(now)) return std::nullopt;
  return ChangeOf(values(base), values(now));
}

// A list of named things that the runs have: those of the base in order, then those that only the
// new side has.
template <class ListOf>
std::vector<std::string> NamesOf(const Runs& base, const Runs& now, ListOf list_of) {
  std::vector<std::string> names;
  for (const Runs* side : {&base, &now}) {
    for (const RunSummary& run : *side) {
      for (const auto& one : list_of(run)) {
        if (std::find(names.begin(), names.end(), one.name) == names.end()) {
          names.push_back(one.name);
        }
      }
    }
  }
  return names;
}

template <class Named>
const Named* Find(const std::vector<Named>& list, const std::string& name) {
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const Named& one) { return one.name == name; });
  return found == list.end() ? nullptr : &*found;
}

OpChange OpChangeOf(const Runs& base, const Runs& now, const std::string& stage_name,
                    const std::string& name) {
  return {name, ChangeOfKnown(base, now, [&](const RunSummary& run) -> std::optional<double> {
            const RunSummary::Stage* const stage = Find(run.stages, stage_name);
            const RunSummary::Op* const op = stage == nullptr ? nullptr : Find(stage->ops, name);
            return op == nullptr ? std::nullopt : std::optional(op->ms_per_call);
          })};
}

StageChange StageChangeOf(const Runs& base, const Runs& now, const std::string& name) {
  const auto field = [&](std::optional<double> RunSummary::Stage::*member) {
    return ChangeOfKnown(base, now, [&](const RunSummary& run) -> std::optional<double> {
      const RunSummary::Stage* const stage = Find(run.stages, name);
      return stage == nullptr ? std::nullopt : stage->*member;
    });
  };
  StageChange change{name,
                     field(&RunSummary::Stage::service_ms),
                     field(&RunSummary::Stage::busy_ms_per_step),
                     field(&RunSummary::Stage::capacity_samples_per_s),
                     {}};
  const auto ops_of = [&](const RunSummary& run) {
    const RunSummary::Stage* const stage = Find(run.stages, name);
    return stage == nullptr ? std::vector<RunSummary::Op>() : stage->ops;
  };
  for (const std::string& op : NamesOf(base, now, ops_of)) {
    change.ops.push_back(OpChangeOf(base, now, name, op));
  }
  return change;
}

void PinToNone(std::optional<Change>& change) {
  if (!change) return;
  change->ratio = change->low = change->high = 1;
  change->bounded = true;
}

// The same recordings did not change, however much they vary.
void PinAll(Comparison& comparison) {
  for (auto* change : {&comparison.throughput, &comparison.step_mean_ms, &comparison.step_p50_ms,
                       &comparison.step_p95_ms, &comparison.step_p99_ms}) {
    PinToNone(*change);
  }
  for (auto& change : comparison.ms_per_step) PinToNone(change);
  for (StageChange& stage : comparison.stages) {
    for (auto* change : {&stage.service_ms, &stage.busy_ms_per_step, &stage.capacity_samples_per_s})
      PinToNone(*change);
    for (OpChange& op : stage.ops) PinToNone(op.ms_per_call);
  }
}

}  // namespace

Change ChangeOf(const std::vector<double>& base, const std::vector<double>& now) {
  if (AllPositive(base) && AllPositive(now)) {
    const std::vector<double> base_logs = Logs(base);
    const std::vector<double> now_logs = Logs(now);
    const double base_mean = std::exp(Mean(base_logs));
    const double now_mean = std::exp(Mean(now_logs));
    if (std::min(base.size(), now.size()) >= 2) {
      return Bounded(base_mean, now_mean, CompareRuns(base_logs, now_logs));
    }
    const double ratio = now_mean / base_mean;
    return {base_mean, now_mean, ratio, ratio, ratio, false};
  }
  const double base_mean = Mean(base);
  const double now_mean = Mean(now);
  const double ratio = base_mean > 0 ? now_mean / base_mean : now_mean == 0 ? 1 : 0;
  return {base_mean, now_mean, ratio, ratio, ratio, false};
}

void PutSideBySide(const Runs& base, const Runs& now, const RatedSides& rated,
                   const Evidence& evidence, Comparison& comparison) {
  if (!rated.by_steps && !rated.base.empty() && !rated.now.empty()) {
    const double base_rate = std::exp(Mean(LogRates(rated.base)));
    const double now_rate = std::exp(Mean(LogRates(rated.now)));
    const double ratio = now_rate / base_rate;
    comparison.throughput = evidence.rate ? Bounded(base_rate, now_rate, *evidence.rate)
                                          : Change{base_rate, now_rate, ratio, ratio, ratio, false};
  }
  comparison.step_mean_ms = StepTimeChange(rated, evidence, Statistic::kMean);
  comparison.step_p50_ms = StepTimeChange(rated, evidence, Statistic::kP50);
  comparison.step_p95_ms = StepTimeChange(rated, evidence, Statistic::kP95);
  comparison.step_p99_ms = StepTimeChange(rated, evidence, Statistic::kP99);
  for (size_t c = 0; c < attribution::kCategories; ++c) {
    comparison.ms_per_step[c] =
        ChangeOfKnown(base, now, [c](const RunSummary& run) { return run.ms_per_step[c]; });
  }
  const auto stages_of = [](const RunSummary& run) { return run.stages; };
  for (const std::string& name : NamesOf(base, now, stages_of)) {
    comparison.stages.push_back(StageChangeOf(base, now, name));
  }
  if (evidence.basis == Basis::kSameRuns) PinAll(comparison);
}

}  // namespace stallscope::compare
