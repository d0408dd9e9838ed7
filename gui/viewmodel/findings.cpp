#include "gui/viewmodel/findings.h"

#include <utility>

#include "analyzer/spec/spec_json.h"
#include "analyzer/words/words.h"
#include "gui/viewmodel/phrases.h"

namespace stallscope::viewmodel {
namespace {

// Why its recommendation cannot be measured; empty if it can.
std::string WhyNotVerify(const session::State& state, const model::Run& run,
                         const findings::Recommendation& recommendation) {
  if (recommendation.patch.changes.empty()) return "no knob controls this";
  if (run.info.spec_json.empty()) return "the trace has no runnable spec";
  if (state.shown.range.has_value()) return "only the whole run can be replayed, not a range";
  return {};
}

void AddRecommendation(const session::State& state, const model::Run& run,
                       const findings::Recommendation& recommendation, FindingCard& card) {
  card.advice = recommendation.text;
  card.patch = LinesOf(recommendation.patch);
  card.unpriced = recommendation.unpriced;
  if (recommendation.gain.has_value()) {
    const findings::Gain& gain = *recommendation.gain;
    card.predicted = words::Factor(gain.predicted) + " (" + words::Factor(gain.low) + " to " +
                     words::Factor(gain.high) + ")";
  }
  if (recommendation.measured.has_value()) card.measured = words::Factor(*recommendation.measured);
  card.memory = CostText(recommendation);
  card.cannot_verify = WhyNotVerify(state, run, recommendation);
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

FindingCard CardOf(const session::State& state, const model::Run& run, size_t index) {
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
  if (finding.recommendation.has_value()) {
    AddRecommendation(state, run, *finding.recommendation, card);
  }
  return card;
}

}  // namespace

FindingsModel BuildFindings(const session::State& state) {
  FindingsModel model;
  const session::OpenRun* const open = state.Active();
  if (open == nullptr || open->run == nullptr || state.shown.report == nullptr) {
    model.nothing = "No run has been analyzed yet.";
    return model;
  }
  for (size_t i = 0; i < state.shown.report->findings.size(); ++i) {
    model.cards.push_back(CardOf(state, *open->run, i));
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
