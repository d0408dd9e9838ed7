#include "gui/viewmodel/overview.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyzer/report/report.h"
#include "analyzer/words/words.h"
#include "gui/viewmodel/findings.h"
#include "gui/viewmodel/phrases.h"

namespace stallscope::viewmodel {
namespace {

constexpr size_t kMostAdvice = 3;

Paint PaintOfBound(findings::Bound bound) {
  switch (bound) {
    case findings::Bound::kInput:
      return Paint::kInputStall;
    case findings::Bound::kTransfer:
      return Paint::kTransfer;
    case findings::Bound::kCompute:
      return Paint::kCompute;
    case findings::Bound::kLaunch:
      return Paint::kLaunch;
    case findings::Bound::kCommunication:
      return Paint::kCommunication;
    case findings::Bound::kBalanced:
    case findings::Bound::kInconclusive:
      break;
  }
  return Paint::kOther;
}

double FractionOf(const report::Report& report, attribution::Category category) {
  const auto& total = report.breakdown[attribution::At(category)];
  return total.has_value() ? total->fraction : 0;
}

std::string Sentence(const report::Report& report) {
  using attribution::Category;
  const report::VerdictRow& verdict = report.verdict;
  const auto share = [&](Category category) {
    return words::Percent(FractionOf(report, category));
  };
  switch (verdict.bound) {
    case findings::Bound::kInput: {
      if (verdict.beside_profile) {
        return "The trainer waits for input, but hardly while the profiler is open.";
      }
      std::string text =
          "The trainer waits for input " + share(Category::kInputStall) + " of the time";
      if (!verdict.stage.empty()) text += ", mostly for " + verdict.stage;
      if (verdict.cause.has_value()) text += ": " + std::string(PhraseFor(*verdict.cause));
      return text + ".";
    }
    case findings::Bound::kTransfer:
      return "The device spends " + share(Category::kTransfer) + " of the time waiting for copies.";
    case findings::Bound::kCompute:
      return "The device computes " + share(Category::kCompute) +
             " of the time: input does not limit this run.";
    case findings::Bound::kLaunch:
      return "The device spends " + share(Category::kLaunch) +
             " of the time waiting for the host to launch work.";
    case findings::Bound::kCommunication:
      return "The devices spend " + share(Category::kCommunication) +
             " of the time exchanging gradients.";
    case findings::Bound::kBalanced:
      return "Nothing stands out: no single cause is worth removing on its own.";
    case findings::Bound::kInconclusive:
      break;
  }
  return "This recording does not show what bounds the run.";
}

std::vector<BreakdownPart> BreakdownOf(const report::Report& report) {
  std::vector<BreakdownPart> parts;
  double at = 0;
  for (const attribution::Category category : attribution::kReportOrder) {
    const auto& total = report.breakdown[attribution::At(category)];
    if (!total.has_value() || total->ns == 0) continue;
    BreakdownPart part;
    part.paint = PaintOf(category);
    part.name = WordFor(part.paint);
    part.begin = at;
    at += total->fraction;
    part.end = std::min(at, 1.0);
    part.text = words::Percent(total->fraction);
    part.tooltip = fmt::format("{}: {}, {}", part.name, words::BothNs(total->ns),
                               words::Percent(total->fraction));
    if (total->bounded) {
      part.tooltip +=
          fmt::format(" ({} to {})", words::Percent(total->low), words::Percent(total->high));
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

// From the whole run, whatever range is shown: a part of a run is not priced, and the best advice
// for all of it must not vanish when a part is selected.
std::vector<Advice> AdviceOf(const session::OpenRun& open, const report::Report& shown) {
  std::vector<Advice> advice;
  const report::Report& whole = open.whole.report != nullptr ? *open.whole.report : shown;
  for (size_t i = 0; i < whole.findings.size() && advice.size() < kMostAdvice; ++i) {
    const report::FindingRow& finding = whole.findings[i];
    if (!finding.recommendation.has_value()) continue;
    const findings::Recommendation& recommendation = *finding.recommendation;
    Advice one;
    one.finding = i;
    one.shown = SameFinding(shown, finding);
    one.text = recommendation.text;
    one.cannot_verify = WhyNotVerify(*open.run, recommendation);
    one.cost = CostText(recommendation);
    one.why = finding.text;
    one.gain = report::GainOf(recommendation);
    advice.push_back(std::move(one));
  }
  return advice;
}

std::vector<Figure> FiguresOf(const report::Report& report) {
  std::vector<Figure> figures;
  if (report.throughput.has_value()) {
    const auto& rate = *report.throughput;
    figures.push_back(
        {"throughput", words::Number(rate.samples_per_s) + " samples/s",
         rate.bounded ? fmt::format("{} to {} (95%)", words::Rate(rate.low), words::Rate(rate.high))
                      : fmt::format("{} are too few for an interval",
                                    words::Counted(report.steps, "step"))});
  }
  if (report.step_ms.has_value()) {
    const auto& step = *report.step_ms;
    const auto ns = [](double ms) { return static_cast<int64_t>(ms * 1e6); };
    figures.push_back(
        {"step time", words::Duration(ns(step.mean)),
         fmt::format("mean {}; p50 {}, p95 {}, p99 {}", words::ExactNs(ns(step.mean)),
                     words::MillisecondsOrDash(step.p50), words::MillisecondsOrDash(step.p95),
                     words::MillisecondsOrDash(step.p99))});
  }
  std::string excluded = report.warmup_steps == 0
                             ? std::string("no warm-up excluded")
                             : words::Grouped(report.warmup_steps) + " warm-up steps excluded";
  if (report.cold.has_value()) {
    excluded +=
        fmt::format("; {} of a cold start excluded ({})", words::Grouped(report.cold->steps),
                    attribution::WordFor(report.cold->cause));
  }
  figures.push_back({"steps", words::Grouped(report.steps), excluded});
  const int64_t window = report.window_end_ns - report.window_start_ns;
  figures.push_back({"window", words::Duration(window), words::ExactNs(window)});
  if (report.memory.peak_rss_bytes.has_value()) {
    figures.push_back({"peak memory", words::Bytes(*report.memory.peak_rss_bytes),
                       words::Grouped(*report.memory.peak_rss_bytes) + " bytes"});
  }
  const trace::DeviceInfo& device = report.device;
  if (!device.kind.empty()) {
    // Wherever an emulated device is named, it is called emulated.
    const bool plain = device.name.empty() || device.name == device.kind;
    figures.push_back(
        {"device", plain ? device.kind : device.name + " (" + device.kind + ")", device.driver});
  }
  return figures;
}

}  // namespace

TrustLine TrustOf(const session::OpenRun& run) {
  TrustLine trust;
  if (run.error.has_value()) {
    trust.text = run.error->Line();
    trust.complete = false;
    return trust;
  }
  if (run.run == nullptr) {
    trust.text = "reading " + run.path;
    return trust;
  }
  trust.text = report::TrustLine(*run.run);
  trust.complete = run.run->quality.Complete();
  trust.warnings = words::Condensed(run.run->quality.warnings);
  // On every panel: the line is always visible.
  const bool assumed = !AssumedOn(run.run->info.device).empty();
  if (run.following) {
    // A recording that has not ended is not a damaged one.
    trust.complete = run.run->quality.damaged_bytes == 0 && run.run->quality.dropped == 0;
    trust.text =
        "still being written: " + words::Grouped(model::CountSpans(*run.run)) + " spans so far";
  }
  if (!run.lost.empty()) {
    trust.text = run.lost;
    trust.complete = false;
  }
  if (assumed) trust.text += "; emulated device";
  return trust;
}

OverviewModel BuildOverview(const session::State& state) {
  OverviewModel model;
  const session::OpenRun* const run = state.Active();
  if (run == nullptr) {
    model.title = "Nothing is open";
    return model;
  }
  model.title = run->title;
  model.trust = TrustOf(*run);
  if (state.shown.report == nullptr) return model;
  const report::Report& report = *state.shown.report;
  if (!report.name.empty()) model.title = report.name;
  if (state.shown.range.has_value()) {
    model.range = fmt::format("{} steps in the range, {}", words::Grouped(report.steps),
                              words::Duration(report.window_end_ns - report.window_start_ns));
  }
  model.assumed = AssumedOn(report.device);
  model.verdict = report.verdict.text;
  model.sentence = Sentence(report);
  model.verdict_paint = PaintOfBound(report.verdict.bound);
  model.confidence = report.verdict.confidence;
  model.doubts = report.verdict.doubts;
  model.breakdown = BreakdownOf(report);
  model.advice = AdviceOf(*run, report);
  if (model.advice.empty()) {
    model.no_advice = run->stage == session::OpenStage::kReady
                          ? "No single pipeline change would make this run faster."
                          : "Pricing recommendations.";
  }
  model.figures = FiguresOf(report);
  return model;
}

}  // namespace stallscope::viewmodel
