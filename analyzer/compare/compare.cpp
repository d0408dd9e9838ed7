#include "analyzer/compare/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "analyzer/compare/answer.h"
#include "analyzer/compare/rates.h"
#include "analyzer/compare/side_by_side.h"
#include "analyzer/model/job_spec.h"
#include "analyzer/spec/job_knobs.h"
#include "analyzer/spec/spec_json.h"
#include "analyzer/words/words.h"

namespace stallscope::compare {
namespace {

using Runs = std::vector<RunSummary>;

// --- What is compared of a run ---

constexpr double kNsPerMs = 1e6;
constexpr size_t kMostOps = 4;  // of a stage

void AddSteps(const attribution::Attribution& attribution, RunSummary& summary) {
  // Without counted steps the one share is the window's: there are no steps to compare.
  if (attribution.window.steps == 0 || attribution.steps.empty()) return;
  attribution::PerCategory<double> sums{};
  for (const attribution::StepShare& step : attribution.steps) {
    summary.step_ms.push_back(static_cast<double>(step.end_ns - step.start_ns) / kNsPerMs);
    summary.samples.push_back(step.samples);
    for (size_t c = 0; c < attribution::kCategories; ++c) {
      sums[c] += static_cast<double>(step.ns[c]);
    }
  }
  const double steps = static_cast<double>(attribution.steps.size());
  for (size_t c = 0; c < attribution::kCategories; ++c) {
    if (attribution.breakdown[c]) summary.ms_per_step[c] = sums[c] / steps / kNsPerMs;
  }
}

void AddStages(const model::Run& run, const attribution::Attribution& attribution,
               RunSummary& summary) {
  for (const attribution::StageUse& use : attribution.stages) {
    RunSummary::Stage& stage = summary.stages.emplace_back();
    stage.name = std::string(run.NameOf(use.stage));
    stage.capacity_samples_per_s = use.capacity_samples_per_s;
    if (use.elements > 0) stage.service_ms = use.service_ns.mean / kNsPerMs;
    for (const attribution::OpUse& op : use.ops) {
      if (stage.ops.size() == kMostOps || op.count == 0) break;
      stage.ops.push_back(
          {op.name, static_cast<double>(op.ns) / static_cast<double>(op.count) / kNsPerMs});
    }
    if (!summary.step_ms.empty() && (use.elements > 0 || use.busy_ns > 0)) {
      stage.busy_ms_per_step =
          static_cast<double>(use.busy_ns) / static_cast<double>(summary.step_ms.size()) / kNsPerMs;
    }
  }
}

// "loader.num_workers" set to 2, for each knob of each of a job's loaders.
std::vector<SetChange> KnobsOf(const model::Run& run) {
  std::vector<SetChange> settings;
  for (const model::Loader& loader : run.loaders) {
    const auto given = model::SettingsOf(loader.info);
    const auto take = [&](std::string_view knob) {
      const auto found = given.find(std::string(knob));
      // What was left to the framework is no value that could be set.
      if (found == given.end() || found->second == "null") return;
      settings.push_back({loader.name + "." + found->first, found->second});
    };
    for (const std::string_view knob : model::kLoaderKnobs) take(knob);
    for (const std::string_view knob : kOtherLoaderKnobs) take(knob);
  }
  return settings;
}

double CoresOf(const trace::HostInfo& host) {
  const double allowed = host.cores_allowed;
  if (host.cgroup_cores <= 0) return allowed;
  return allowed > 0 && allowed < host.cgroup_cores ? allowed : host.cgroup_cores;
}

// --- Whether two recordings are the same ---

// Compares everything that was measured, to the nanosecond: two recordings never agree in all of
// it. Without steps, only the file's name can tell.
bool SameRecording(const RunSummary& a, const RunSummary& b) {
  return (!a.step_ms.empty() || (!a.trace.empty() && a.trace == b.trace)) &&
         a.step_ms == b.step_ms && a.samples == b.samples && a.samples_per_s == b.samples_per_s &&
         a.ms_per_step == b.ms_per_step && a.stages == b.stages;
}

// A recording given twice must not count as two runs: its copies do not vary.
Runs WithoutRepeats(const Runs& runs, std::vector<std::string>& warnings) {
  Runs once;
  for (const RunSummary& run : runs) {
    const auto first = std::find_if(once.begin(), once.end(), [&](const RunSummary& other) {
      return run.trace == other.trace && SameRecording(run, other);
    });
    if (first == once.end()) {
      once.push_back(run);
    } else {
      warnings.push_back(run.trace + ": given more than once on one side, counted once");
    }
  }
  return once;
}

// Every run on one side is on the other, too.
bool SameSides(const Runs& base, const Runs& now) {
  if (base.size() != now.size()) return false;
  std::vector<bool> taken(now.size(), false);
  for (const RunSummary& run : base) {
    size_t i = 0;
    while (i < now.size() && (taken[i] || !SameRecording(run, now[i]))) ++i;
    if (i == now.size()) return false;
    taken[i] = true;
  }
  return true;
}

void WarnOfShared(const Runs& base, const Runs& now, std::vector<std::string>& warnings) {
  for (const RunSummary& run : base) {
    const bool shared = std::any_of(
        now.begin(), now.end(), [&](const RunSummary& other) { return SameRecording(run, other); });
    if (shared) warnings.push_back(run.trace + ": the same recording is on both sides");
  }
}

// --- What makes two sides hard to compare, one line each ---

using Words = std::set<std::string>;

Words WordsOf(const Runs& runs, const std::function<std::string(const RunSummary&)>& word) {
  Words words;
  for (const RunSummary& run : runs) {
    std::string one = word(run);
    if (!one.empty()) words.insert(std::move(one));
  }
  return words;
}

std::string Join(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

// If both sides know it and do not all agree.
void WarnWhereDifferent(const Runs& base, const Runs& now, const std::string& what,
                        const std::function<std::string(const RunSummary&)>& word,
                        std::vector<std::string>& warnings) {
  const Words in_base = WordsOf(base, word);
  const Words in_now = WordsOf(now, word);
  if (in_base.empty() || in_now.empty()) return;
  if (in_base.size() == 1 && in_base == in_now) return;
  warnings.push_back("the " + what + " differ: base " + Join(in_base) + "; new " + Join(in_now));
}

void WarnOfLoss(const Runs& runs, std::vector<std::string>& warnings) {
  for (const RunSummary& run : runs) {
    if (run.complete) continue;
    warnings.push_back(run.trace + ": part of this run was lost or never written");
  }
}

// One line for a side: of many runs on a busy machine each would say the same.
void WarnOfOthers(const Runs& runs, std::string_view side, std::vector<std::string>& warnings) {
  double most = 0;
  size_t disturbed = 0;
  for (const RunSummary& run : runs) {
    most = std::max(most, run.others);
    if (run.others > attribution::kOthersDisturb) ++disturbed;
  }
  if (disturbed == 0) return;
  warnings.push_back(fmt::format(
      "other programs or virtual machines had up to {} of the cores in {} of {}: the answer may be "
      "theirs",
      words::Percent(most), disturbed, words::Counted(runs.size(), fmt::format("{} run", side))));
}

std::optional<Spec> OneSpec(const Runs& runs, const std::string& side,
                            std::vector<std::string>& warnings) {
  std::optional<Spec> spec;
  for (const RunSummary& run : runs) {
    if (run.spec_json.empty()) return std::nullopt;
    auto read = ReadSpec(run.spec_json, run.trace);
    if (!read.ok()) {
      warnings.push_back("the specs cannot be compared: " + read.error().Line());
      return std::nullopt;
    }
    if (spec && !(*spec == read.value())) {
      warnings.push_back("the " + side + " runs have different specs");
      return std::nullopt;
    }
    spec = std::move(read).value();
  }
  return spec;
}

// Other hosts, cores and devices; lost data; other programs at work.
std::vector<std::string> WarningsOf(const Runs& base, const Runs& now) {
  std::vector<std::string> warnings;
  WarnWhereDifferent(
      base, now, "hosts", [](const RunSummary& run) { return run.host; }, warnings);
  WarnWhereDifferent(
      base, now, "cores",
      [](const RunSummary& run) {
        return run.cores_allowed > 0 ? fmt::format("{:.4g}", run.cores_allowed) : std::string();
      },
      warnings);
  WarnWhereDifferent(
      base, now, "devices",
      [](const RunSummary& run) {
        if (run.device_name.empty() || run.device_name == run.device_kind) return run.device_kind;
        return run.device_kind + " (" + run.device_name + ")";
      },
      warnings);
  WarnOfLoss(base, warnings);
  WarnOfLoss(now, warnings);
  WarnOfOthers(base, "base", warnings);
  WarnOfOthers(now, "new", warnings);
  return warnings;
}

// False where both sides have digests that are not all the same; adds a line then.
bool SameData(const Runs& base, const Runs& now, std::vector<std::string>& warnings) {
  const auto digest = [](const RunSummary& run) { return run.digest; };
  const Words in_base = WordsOf(base, digest);
  const Words in_now = WordsOf(now, digest);
  if (in_base.empty() || in_now.empty()) return true;
  if (in_base.size() == 1 && in_base == in_now) return true;
  warnings.emplace_back("the digests differ: the runs did not get the same batches");
  return false;
}

// The settings that all runs of a side have.
std::optional<std::vector<SetChange>> SameSettings(const Runs& runs, const std::string& side,
                                                   std::vector<std::string>& warnings) {
  const std::vector<SetChange>& settings = runs.front().settings;
  for (const RunSummary& run : runs) {
    if (run.settings == settings) continue;
    warnings.push_back("the loaders of the " + side + " runs have different settings");
    return std::nullopt;
  }
  return settings.empty() ? std::nullopt : std::optional(settings);
}

std::optional<Patch> SettingsChange(const Runs& base, const Runs& now,
                                    std::vector<std::string>& warnings) {
  const auto from = SameSettings(base, "base", warnings);
  const auto to = SameSettings(now, "new", warnings);
  if (!from || !to) return std::nullopt;
  Patch patch;
  for (const SetChange& setting : *to) {
    if (std::find(from->begin(), from->end(), setting) == from->end()) {
      patch.changes.emplace_back(setting);
    }
  }
  return patch;
}

// The patch from the base's spec or settings to the new one's; nothing where a side has none, and
// nothing with a line where the runs of a side differ or a spec cannot be read.
std::optional<Patch> SpecChange(const Runs& base, const Runs& now,
                                std::vector<std::string>& warnings) {
  if (base.front().spec_json.empty() && now.front().spec_json.empty()) {
    return SettingsChange(base, now, warnings);
  }
  const std::optional<Spec> from = OneSpec(base, "base", warnings);
  const std::optional<Spec> to = OneSpec(now, "new", warnings);
  if (!from || !to) return std::nullopt;
  return Diff(*from, *to);
}

}  // namespace

RunSummary Summarise(const model::Run& run, const attribution::Attribution& attribution) {
  RunSummary summary;
  summary.trace = run.path;
  summary.name = run.info.name;
  if (attribution.throughput) summary.samples_per_s = attribution.throughput->samples_per_s;
  AddSteps(attribution, summary);
  AddStages(run, attribution, summary);
  summary.spec_json = run.info.spec_json;
  summary.settings = KnobsOf(run);
  summary.digest = run.info.digest;
  summary.complete = run.quality.Complete();
  summary.cores_allowed = CoresOf(run.info.host);
  summary.others = attribution.cpu.OthersDisturb() ? *attribution.cpu.others : 0;
  summary.host = run.info.host.name;
  summary.device_kind = run.info.device.kind;
  summary.device_name = run.info.device.name;
  return summary;
}

Comparison Compare(const std::vector<RunSummary>& base, const std::vector<RunSummary>& now) {
  Comparison comparison;
  std::vector<std::string>& warnings = comparison.warnings;
  const Runs base_once = WithoutRepeats(base, warnings);
  const Runs now_once = WithoutRepeats(now, warnings);
  const bool same = SameSides(base_once, now_once);
  const RatedSides rated = RateSides(base_once, now_once);
  const Evidence evidence = FindAnswer(rated, same);

  comparison.base_runs = base.size();
  comparison.new_runs = now.size();
  comparison.answer = evidence.answer;
  comparison.text = TextOf(evidence);
  comparison.method = WordFor(evidence.basis);
  comparison.p_value = evidence.p_value;
  PutSideBySide(base_once, now_once, rated, evidence, comparison);

  if (!same) WarnOfShared(base_once, now_once, warnings);
  if (rated.by_steps && evidence.rate && !same) {
    warnings.emplace_back("one side does not record its samples per step: comparing steps");
  }
  for (const std::string& trace : rated.left_out) {
    warnings.push_back(trace + ": no throughput, left out");
  }
  const std::vector<std::string> circumstances = WarningsOf(base_once, now_once);
  warnings.insert(warnings.end(), circumstances.begin(), circumstances.end());
  comparison.same_data = SameData(base_once, now_once, warnings);
  comparison.spec_change = SpecChange(base_once, now_once, warnings);
  return comparison;
}

}  // namespace stallscope::compare
