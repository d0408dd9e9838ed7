#include "gui/viewmodel/findings.h"

#include <utility>

#include "analyzer/words/words.h"
#include "gui/viewmodel/phrases.h"
#include "replay/workbench/replaying.h"

namespace stallscope::viewmodel {
namespace {

// A part of a run is not priced: it has the gain of the whole run, and says so.
report::GainText GainShown(const session::State& state, const session::OpenRun& open,
                           const report::FindingRow& finding) {
  if (!state.shown.range.has_value() || open.whole.report == nullptr) {
    return report::GainOf(*finding.recommendation);
  }
  const auto same = SameFinding(*open.whole.report, finding);
  report::GainText gain;
  if (!same || !open.whole.report->findings[*same].recommendation.has_value()) {
    gain.beside = "only changes that help the whole run are priced";
    return gain;
  }
  gain = report::GainOf(*open.whole.report->findings[*same].recommendation);
  gain.beside += gain.factor.empty() ? "" : ", for the whole run";
  return gain;
}

void AddRecommendation(const session::State& state, const session::OpenRun& open,
                       const report::FindingRow& finding, FindingCard& card) {
  const findings::Recommendation& recommendation = *finding.recommendation;
  card.advice = recommendation.text;
  card.patch = LinesOf(recommendation.patch);
  card.gain = GainShown(state, open, finding);
  card.memory = CostText(recommendation);
  card.cannot_verify = state.shown.range.has_value()
                           ? "only the whole run can be replayed, not a range"
                           : WhyNotVerify(*open.run, recommendation);
  card.can_verify = card.cannot_verify.empty() && !state.verify.running;
  card.verifying = state.verify.running &&
                   (!state.verify.finding.has_value() || state.verify.finding == card.finding);
  const findings::Code& code = recommendation.code;
  for (const auto& [framework, text] :
       {std::pair("tf.data", &code.tf_data), std::pair("PyTorch", &code.pytorch),
        std::pair("DALI", &code.dali), std::pair("grain", &code.grain)}) {
    if (!text->empty()) card.code.emplace_back(framework, *text);
  }
}

// The lines around a place in the job's own source; empty if the trace does not have them.
std::string SourceAround(const model::Run& run, const findings::CodePlace& where) {
  constexpr uint32_t kAround = 3;
  for (const model::Loader& loader : run.loaders) {
    const trace::CallSite& call = loader.info.call;
    if (call.source.empty() || loader.info.file != where.file) continue;
    std::string shown;
    bool found = false;
    uint32_t number = call.source_line;
    for (const std::string_view line : findings::LinesOf(call.source)) {
      const bool here = number == where.line;
      found = found || here;
      if (number + kAround >= where.line && number <= where.line + kAround) {
        shown += here ? "> " : "  ";
        shown += line;
        if (!line.ends_with('\n')) shown += '\n';
      }
      ++number;
    }
    if (found) return shown;
  }
  return "";
}

FindingCard CardOf(const session::State& state, const session::OpenRun& open, size_t index) {
  const report::FindingRow& finding = state.shown.report->findings[index];
  FindingCard card;
  card.finding = index;
  card.title = finding.id + (finding.stage.empty() ? "" : " in " + finding.stage);
  card.text = finding.text;
  card.share = words::Percent(finding.share) + " of step time";
  card.severity = finding.severity;
  card.selected = state.view.selected.finding == index;
  for (size_t i = 0; i < finding.evidence.size(); ++i) {
    const report::EvidenceRow& evidence = finding.evidence[i];
    card.evidence.push_back({i, evidence.text,
                             evidence.end_ns > evidence.start_ns || evidence.step.has_value() ||
                                 !evidence.name.empty()});
  }
  card.where = words::WholePlace(finding.where.file, finding.where.line);
  if (finding.recommendation.has_value()) {
    AddRecommendation(state, open, finding, card);
    card.diff = findings::DiffOf(finding.changes);
    for (const findings::SourceChange& change : finding.changes) {
      card.by_hand.insert(card.by_hand.end(), change.by_hand.begin(), change.by_hand.end());
    }
  }
  if (card.diff.empty()) card.source = SourceAround(*open.run, finding.where);
  return card;
}

}  // namespace

std::string WhyNotVerify(const model::Run& run, const findings::Recommendation& recommendation) {
  if (recommendation.patch.changes.empty()) return "no knob controls this";
  return workbench::RecordedSpec(run).ok() ? "" : "the trace has no runnable spec";
}

std::optional<size_t> SameFinding(const report::Report& report, const report::FindingRow& finding) {
  for (size_t i = 0; i < report.findings.size(); ++i) {
    if (report.findings[i].id == finding.id && report.findings[i].stage == finding.stage) return i;
  }
  return std::nullopt;
}

FindingsModel BuildFindings(const session::State& state) {
  FindingsModel model;
  const session::OpenRun* const open = state.Active();
  if (open == nullptr || open->run == nullptr || state.shown.report == nullptr) {
    model.nothing = "No run has been analyzed yet.";
    return model;
  }
  model.assumed = AssumedOn(state.shown.report->device);
  for (size_t i = 0; i < state.shown.report->findings.size(); ++i) {
    model.cards.push_back(CardOf(state, *open, i));
  }
  if (model.cards.empty()) model.nothing = "No rule found anything in this run.";
  const session::VerifyState& verify = state.verify;
  model.verifying = verify.running;
  if (verify.running) {
    model.verify_text = verify.doing.empty() ? std::string("starting")
                                             : verify.doing + ": " + words::Grouped(verify.done) +
                                                   " of " + words::Grouped(verify.total);
  }
  if (verify.error.has_value()) model.verify_error = verify.error->Line();
  return model;
}

}  // namespace stallscope::viewmodel
