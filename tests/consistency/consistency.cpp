#include "tests/consistency/consistency.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <variant>

#include "analyzer/findings/rules/rule.h"
#include "analyzer/importers/open_run.h"
#include "analyzer/spec/spec_json.h"
#include "analyzer/words/words.h"
#include "tests/support/paths.h"

namespace stallscope::test {
namespace {

using attribution::At;
using attribution::Category;
using findings::Bound;
using findings::Finding;

using Lines = std::vector<std::string>;

constexpr std::array kNamed = {Category::kInputStall, Category::kTransfer, Category::kLaunch,
                               Category::kCommunication};

double ShareOf(const Told& told, Category category) {
  const auto& total = told.attribution.breakdown[At(category)];
  return total.has_value() ? total->fraction : 0;
}

// --- Time ---

void PartsAddUp(const Told& told, Lines& lines) {
  int64_t sum = 0;
  for (size_t c = 0; c < attribution::kCategories; ++c) {
    const auto& total = told.attribution.breakdown[c];
    if (!total.has_value()) continue;
    sum += total->ns;
    const double fraction =
        static_cast<double>(total->ns) / static_cast<double>(told.attribution.window.ns());
    if (told.attribution.window.ns() > 0 && std::fabs(fraction - total->fraction) > 1e-6) {
      lines.push_back(fmt::format("{} is {} ns and {} of the window",
                                  attribution::WordFor(static_cast<Category>(c)), total->ns,
                                  total->fraction));
    }
  }
  if (sum != told.attribution.window.ns()) {
    lines.push_back(fmt::format("the breakdown adds up to {} ns, the window is {}", sum,
                                told.attribution.window.ns()));
  }
  int64_t blamed = 0;
  for (const auto& blame : told.attribution.blame) blamed += blame.ns;
  const auto& stall = told.attribution.breakdown[At(Category::kInputStall)];
  if (stall.has_value() && blamed != stall->ns) {
    lines.push_back(fmt::format("{} ns are blamed of {} ns of stall", blamed, stall->ns));
  }
}

// --- The verdict ---

// METHOD.md's rule, once more.
Bound BoundByMethod(const Told& told) {
  std::vector<std::pair<double, Category>> shares;
  for (const Category category : kNamed) shares.emplace_back(ShareOf(told, category), category);
  std::stable_sort(shares.begin(), shares.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  const double compute = ShareOf(told, Category::kCompute);
  if (compute >= 0.9) return Bound::kCompute;
  if (shares[0].first >= 0.1 && shares[0].first >= 1.25 * shares[1].first) {
    for (const Bound bound :
         {Bound::kInput, Bound::kTransfer, Bound::kLaunch, Bound::kCommunication}) {
      if (findings::CategoryOf(bound) == shares[0].second) return bound;
    }
  }
  return compute >= 0.6 && shares[0].first < 0.1 ? Bound::kCompute : Bound::kBalanced;
}

void VerdictFollowsTheBreakdown(const Told& told, Lines& lines) {
  const findings::Verdict& verdict = told.answer.verdict;
  if (verdict.bound == Bound::kInconclusive) {
    if (!verdict.also.empty()) lines.push_back("inconclusive, and yet: " + verdict.also);
    return;
  }
  const Bound expected = BoundByMethod(told);
  if (verdict.bound != expected) {
    lines.push_back(fmt::format("the verdict is {}, the breakdown's is {}", verdict.text,
                                findings::WordFor(expected)));
  }
  size_t told_of = 0;
  for (size_t at = 0; (at = verdict.also.find(" takes ", at)) != std::string::npos; ++at) ++told_of;
  const auto others = std::count_if(kNamed.begin(), kNamed.end(), [&](Category category) {
    return findings::CategoryOf(verdict.bound) != category && ShareOf(told, category) >= 0.05;
  });
  if (told_of != static_cast<size_t>(others)) {
    lines.push_back(
        fmt::format("{} others take 5% or more, and the verdict's second sentence is "
                    "'{}'",
                    others, verdict.also));
  }
  for (const Category category : kNamed) {
    const double share = ShareOf(told, category);
    const bool other = findings::CategoryOf(verdict.bound) != category;
    const bool said =
        verdict.also.find(words::Percent(share) + " of step time") != std::string::npos ||
        verdict.also.find("takes " + words::Percent(share) + ":") != std::string::npos;
    if ((other && share >= 0.05) != said) {
      lines.push_back(fmt::format("{} takes {}, and the verdict's second sentence is '{}'",
                                  attribution::WordFor(category), words::Percent(share),
                                  verdict.also));
    }
  }
  if (told.report.verdict.text != verdict.text) lines.push_back("the report has another verdict");
}

void VerdictComesWithAdvice(const Told& told, Lines& lines) {
  const auto& all = told.answer.findings;
  const Bound bound = told.answer.verdict.bound;
  if (all.empty()) {
    lines.push_back("no finding at all");
  } else if (findings::CategoryOf(bound).has_value() && !all.front().on_bound) {
    lines.push_back("the first finding, " + all.front().id + ", is not about the verdict");
  }
  const auto advises = [](const Finding& finding) {
    return finding.on_bound && (finding.recommendation.has_value() || finding.last_resort);
  };
  if (findings::CategoryOf(bound).has_value() && bound != Bound::kCompute &&
      std::none_of(all.begin(), all.end(), advises)) {
    lines.push_back("nothing is said about what to do");
  }
}

// --- Findings ---

void FindingsAreInOrder(const Told& told, Lines& lines) {
  const auto gain = [](const Finding& finding) {
    const bool priced = finding.recommendation && finding.recommendation->gain;
    return priced ? finding.recommendation->gain->predicted : 0.0;
  };
  const auto key = [&](const Finding& finding) {
    return std::tuple(findings::IsMarginal(finding), !finding.on_bound, -gain(finding),
                      !finding.on_stage, -finding.share);
  };
  const auto& all = told.answer.findings;
  for (size_t i = 0; i + 1 < all.size(); ++i) {
    const bool later = key(all[i]) > key(all[i + 1]);
    if (later) lines.push_back(all[i].id + " comes before " + all[i + 1].id);
  }
  if (told.report.findings.size() != all.size()) {
    lines.push_back("the report has other findings");
    return;
  }
  for (size_t i = 0; i < all.size(); ++i) {
    if (told.report.findings[i].id != all[i].id) lines.push_back("the report has another order");
  }
}

const findings::Rule* RuleOf(const Finding& finding) {
  for (const findings::Rule* rule : findings::AllRules()) {
    if (rule->id == finding.id) return rule;
  }
  return nullptr;
}

void SharesAreOfTheBreakdown(const Told& told, Lines& lines) {
  // Parts of other things than the breakdown: of the devices, of ranks, of kernel time, of
  // counters.
  const std::set<std::string> others = {"idle-device", "slow-rank",      "retracing", "eager-ops",
                                        "sharding",    "drop-remainder", "loss-scale"};
  for (const Finding& finding : told.answer.findings) {
    if (finding.share < 0 || finding.share > 1 + 1e-9) {
      lines.push_back(fmt::format("{} is about {} of step time", finding.id, finding.share));
    }
    const findings::Rule* const rule = RuleOf(finding);
    if (rule == nullptr) {
      lines.push_back("no rule is called " + finding.id);
      continue;
    }
    if (rule->shortens == 0 || others.count(finding.id) != 0) continue;
    double most = 0;
    for (size_t c = 0; c < attribution::kCategories; ++c) {
      if ((rule->shortens & (1U << c)) != 0) most += ShareOf(told, static_cast<Category>(c));
    }
    // Copied ahead is requested and launched ahead.
    if (finding.id == "copy-overlap") {
      most += ShareOf(told, Category::kInputStall) + ShareOf(told, Category::kLaunch);
    }
    // A fixed cost per step of an emulated device.
    if (finding.id == "batch-size") most += ShareOf(told, Category::kCompute);
    if (finding.share > most + 1e-6) {
      lines.push_back(fmt::format("{} is about {} of step time, of which there is {}", finding.id,
                                  finding.share, most));
    }
  }
}

// The factor by which the recommended batch is larger; 2 if the finding has no patch.
double LargerBatch(const Told& told, const Finding& finding) {
  const auto spec = ReadSpec(told.run.info.spec_json, told.run.path);
  if (!spec.ok()) return 2;
  for (const StageSpec& stage : spec.value().stages) {
    const auto* batch = std::get_if<BatchSpec>(&stage.kind);
    for (const auto& change : finding.recommendation->patch.changes) {
      const auto* set = std::get_if<SetChange>(&change);
      if (batch == nullptr || set == nullptr || set->path != stage.name + ".size") continue;
      return std::stod(set->value) / static_cast<double>(batch->size);
    }
  }
  return 2;
}

// What a change can remove: the parts of step time that its rule shortens, or what the finding
// says.
double Removable(const Told& told, const Finding& finding) {
  // A batch n times as large pays a cost per step an nth as often, including the time between
  // steps.
  if (finding.id == "batch-size") {
    const double once = finding.share + ShareOf(told, Category::kOther) +
                        ShareOf(told, Category::kLaunch) + ShareOf(told, Category::kInputStall);
    return std::min(1.0, once) * (1 - 1 / LargerBatch(told, finding));
  }
  if (finding.id == "copy-overlap") return finding.share;
  const findings::Rule* const rule = RuleOf(finding);
  double most = 0;
  for (size_t c = 0; rule != nullptr && c < attribution::kCategories; ++c) {
    if ((rule->shortens & (1U << c)) != 0) most += ShareOf(told, static_cast<Category>(c));
  }
  // A batch that comes late is copied while the device has nothing else to do.
  if (rule != nullptr &&
      (rule->shortens & (1U << static_cast<size_t>(Category::kInputStall))) != 0) {
    most += ShareOf(told, Category::kTransfer);
  }
  return std::max(most, finding.share);
}
// A simulated mean is off by a little, and work that goes leaves its cores to the rest.
constexpr double kRoom = 1.04;

// What is predicted is worth no more than what it removes, and what is worth more than the
// finding's own share says why.
void GainsHaveCeilings(const Told& told, Lines& lines) {
  for (const Finding& finding : told.answer.findings) {
    if (!finding.recommendation.has_value() || !finding.recommendation->gain.has_value()) continue;
    const auto& recommendation = *finding.recommendation;
    if (recommendation.aim != findings::Aim::kSpeed) continue;
    const double gain = recommendation.gain->predicted;
    const double removed = Removable(told, finding);
    if (gain * (1 - removed) > kRoom) {
      lines.push_back(
          fmt::format("{} gains {:.2f}x, and what it removes, {} of step time, is "
                      "worth {:.2f}x at most",
                      finding.id, gain, words::Percent(removed), 1 / (1 - removed)));
    }
    const double said = finding.id == "batch-size" ? removed : finding.share;
    const bool explained =
        std::any_of(finding.evidence.begin(), finding.evidence.end(), [](const auto& evidence) {
          return evidence.text.find("the rest of the input then keeps up") != std::string::npos;
        });
    if (gain * (1 - said) > kRoom && !explained) {
      lines.push_back(fmt::format("{} gains {:.2f}x and speaks of {} of step time", finding.id,
                                  gain, words::Percent(said)));
    }
  }
}

// No change to the input, the copies or the launches saves the time in which the device computes or
// communicates. Another batch, precision or number of devices changes that time, too.
void GainsArePossible(const Told& told, Lines& lines) {
  const std::set<std::string> others = {"batch-size", "idle-device", "mixed-precision", "strategy",
                                        "device-preprocessing"};
  const double kept = ShareOf(told, Category::kCompute) + ShareOf(told, Category::kCommunication);
  for (const Finding& finding : told.answer.findings) {
    if (!finding.recommendation.has_value()) continue;
    const auto& recommendation = *finding.recommendation;
    if (recommendation.gain.has_value() != recommendation.unpriced.empty()) {
      lines.push_back(finding.id + " has both a gain and a reason for none, or neither");
    }
    if (!recommendation.gain.has_value()) continue;
    const findings::Gain& gain = *recommendation.gain;
    if (!(gain.low <= gain.predicted && gain.predicted <= gain.high)) {
      lines.push_back(finding.id + ": its gain is outside of its interval");
    }
    const bool certain =
        recommendation.aim == findings::Aim::kSpeed && !recommendation.costs_nothing;
    if (certain && gain.low < 1.005) {
      lines.push_back(finding.id + " may gain nothing");
    }
    if (others.count(finding.id) == 0 && gain.predicted * kept > 1.1) {
      lines.push_back(fmt::format("{} gains {:.2f}x, and {} of the time must stay", finding.id,
                                  gain.predicted, words::Percent(kept)));
    }
  }
}

// What a trace does not hold has no number.
void ImportedGainsHaveGrounds(const Told& told, Lines& lines) {
  if (!told.run.imported()) return;
  const std::set<std::string> side_by_side = {"loader-workers", "map-parallelism", "parallel-reads",
                                              "prefetch",       "serial-source",   "autotune"};
  const bool cores = told.attribution.cpu.cores > 0;
  for (const Finding& finding : told.answer.findings) {
    if (!finding.recommendation.has_value()) continue;
    const auto& recommendation = *finding.recommendation;
    if (!cores && side_by_side.count(finding.id) != 0 && recommendation.gain.has_value()) {
      lines.push_back(finding.id + " has a gain, and nothing says how many cores there are");
    }
    if (!recommendation.of_stages && !recommendation.patch.changes.empty()) {
      lines.push_back(finding.id + " has a patch of a spec that its author does not have");
    }
    if (finding.id == "copy-overlap" && ShareOf(told, Category::kCompute) < 0.05) {
      lines.push_back("copies are to be hidden behind nothing");
    }
  }
}

void PatchesApply(const Told& told, Lines& lines) {
  const auto spec = ReadSpec(told.run.info.spec_json, told.run.path);
  if (!spec.ok()) return;
  for (const Finding& finding : told.answer.findings) {
    if (!finding.recommendation || finding.recommendation->patch.changes.empty()) continue;
    const auto changed = Apply(spec.value(), finding.recommendation->patch);
    if (!changed.ok()) {
      lines.push_back(finding.id + ": " + changed.error().Line());
    } else if (changed.value() == spec.value()) {
      lines.push_back(finding.id + ": its patch changes nothing");
    }
  }
}

void TextsAreClean(const Told& told, Lines& lines) {
  const auto check = [&](const std::string& who, const std::string& text) {
    for (const char* const wrong : {"nan", "inf ", "{}", "{value}", "{stage}", "  ", "-0."}) {
      if (text.find(wrong) != std::string::npos && who.find("code") == std::string::npos) {
        lines.push_back(fmt::format("{} says '{}'", who, text));
      }
    }
    for (size_t at = text.find('%'); at != std::string::npos; at = text.find('%', at + 1)) {
      size_t from = at;
      while (from > 0 && (std::isdigit(static_cast<unsigned char>(text[from - 1])) != 0 ||
                          text[from - 1] == '.' || text[from - 1] == ',')) {
        --from;
      }
      if (from == at || text[at - 1] == ' ') continue;
      if (std::stod(text.substr(from, at - from)) > 100.05) {
        lines.push_back(fmt::format("{} says '{}'", who, text));
      }
    }
  };
  check("the verdict", told.answer.verdict.also);
  for (const std::string& doubt : told.answer.verdict.doubts) check("a doubt", doubt);
  for (const Finding& finding : told.answer.findings) {
    check(finding.id, finding.text);
    for (const auto& evidence : finding.evidence) check(finding.id + "'s evidence", evidence.text);
    if (!finding.recommendation.has_value()) continue;
    check(finding.id, finding.recommendation->text);
    check(finding.id, finding.recommendation->unpriced);
    const findings::Code& code = finding.recommendation->code;
    for (const std::string& text : {code.tf_data, code.pytorch, code.dali, code.grain}) {
      if (text.find("{value}") != std::string::npos || text.find("{stage}") != std::string::npos) {
        lines.push_back(finding.id + "'s code is not filled in: " + text);
      }
    }
  }
}

// What is random is not the same in every run.
void WorkIsSharedOutOnce(const Told& told, Lines& lines) {
  std::map<StageId, double> claimed;
  for (const Finding& finding : told.answer.findings) {
    if (finding.id == "snapshot" || finding.id == "precomputed-augmentation") {
      claimed[finding.stage] += finding.share;
    }
  }
  for (const auto& [stage, share] : claimed) {
    if (share > ShareOf(told, Category::kInputStall) + 1e-6) {
      lines.push_back(fmt::format("{} is said to be both random and the same in every run",
                                  told.run.NameOf(stage)));
    }
  }
}

// --- Stages and devices ---

void StagesAreCounted(const Told& told, Lines& lines) {
  const auto& a = told.attribution;
  const double stall = ShareOf(told, Category::kInputStall);
  for (const auto& use : a.stages) {
    const std::string name(told.run.NameOf(use.stage));
    if (model::IsTrainer(told.run, use.stage)) {
      const auto& rate = a.throughput;
      if (!use.capacity_samples_per_s || !rate || rate->samples_per_s <= 0) continue;
      const double expected = rate->samples_per_s / std::max(1e-9, 1 - stall);
      if (std::fabs(*use.capacity_samples_per_s / expected - 1) > 0.02) {
        lines.push_back(
            fmt::format("the trainer could take {:.0f} samples/s, and takes {:.0f} "
                        "while it waits for {}",
                        *use.capacity_samples_per_s, rate->samples_per_s, words::Percent(stall)));
      }
      continue;
    }
    const auto& info = told.run.stages[use.stage.value];
    const bool passes = info.kind == "shuffle" || info.kind == "repeat" || info.kind == "prefetch";
    if (!told.run.imported() && passes && a.throughput.has_value() && use.elements == 0 &&
        use.passed.value_or(0) == 0) {
      lines.push_back(name + " passed nothing on, and the trainer got its samples");
    }
    if (use.utilization < 0 || use.utilization > 1) lines.push_back(name + " is busier than time");
  }
}

void DevicesAreCounted(const Told& told, Lines& lines) {
  uint64_t kernels = 0;
  uint64_t copies = 0;
  for (const auto& device : told.attribution.devices) {
    kernels += device.kernels;
    for (const auto& use : device.copies) copies += use.count;
  }
  const auto on_track = [](const auto& row) { return row.track.known(); };
  const auto& rows = told.run.rows;
  const auto all_kernels = std::count_if(rows.kernels.begin(), rows.kernels.end(), on_track);
  const auto all_copies = std::count_if(rows.copies.begin(), rows.copies.end(), on_track);
  if (kernels != static_cast<uint64_t>(all_kernels)) {
    lines.push_back(fmt::format("devices have {} kernels, the trace {}", kernels, all_kernels));
  }
  if (copies != static_cast<uint64_t>(all_copies)) {
    lines.push_back(fmt::format("devices have {} copies, the trace {}", copies, all_copies));
  }
}

void TracesBelow(const std::string& folder, std::vector<std::string>& traces) {
  std::error_code failed;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, failed)) {
    if (!entry.is_regular_file()) continue;
    const auto is_trace = importers::IsTrace(entry.path());
    if (is_trace.ok() && is_trace.value()) traces.push_back(entry.path());
  }
  std::sort(traces.begin(), traces.end());
}

}  // namespace

std::vector<std::string> SampleTraces() {
  std::vector<std::string> traces;
  for (const auto& entry : std::filesystem::directory_iterator(SourceDir() + "/sample_traces")) {
    const std::string name = entry.path().filename();
    if (name.ends_with(".sst") || name.ends_with(".gz")) traces.push_back(entry.path());
  }
  std::sort(traces.begin(), traces.end());
  return traces;
}

std::vector<std::string> CorpusTraces() {
  std::vector<std::string> traces;
  const auto corpus = CorpusDir();
  if (!corpus.has_value()) return traces;
  for (const char* const format : {"chrome", "kineto", "nsys", "tf_trace", "xplane"}) {
    TracesBelow(*corpus + "/" + format, traces);
  }
  return traces;
}

Result<Told> Tell(const std::string& trace) {
  STALLSCOPE_ASSIGN_OR_RETURN(model::Run run, importers::OpenRun(trace));
  Told told{std::move(run), {}, {}, {}};
  told.attribution = attribution::Attribute(told.run);
  told.answer = replay::AnswerOn(told.run, told.attribution, true);
  told.report =
      report::MakeReport(told.run, told.attribution, told.answer.verdict, told.answer.findings);
  return told;
}

std::vector<std::string> ContradictionsIn(const Told& told) {
  Lines lines;
  for (const auto check :
       {&PartsAddUp, &VerdictFollowsTheBreakdown, &VerdictComesWithAdvice, &FindingsAreInOrder,
        &SharesAreOfTheBreakdown, &GainsArePossible, &GainsHaveCeilings, &ImportedGainsHaveGrounds,
        &PatchesApply, &TextsAreClean, &WorkIsSharedOutOnce, &StagesAreCounted,
        &DevicesAreCounted}) {
    check(told, lines);
  }
  return lines;
}

}  // namespace stallscope::test
