// Findings with their evidence, advice and gains. Any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/findings/finding.h"
#include "analyzer/report/finding_cards.h"
#include "gui/session/state.h"

namespace stallscope::viewmodel {

struct EvidenceLink {
  size_t index = 0;  // for ShowEvidence
  std::string text;
  bool jumps = false;  // there is a place to go to
};

struct FindingCard {
  size_t finding = 0;  // row of Report::findings
  std::string title;   // "map-parallelism in decode"
  std::string text;
  std::string share;  // "41.2% of step time"
  std::string where;  // "train.py:41", in the user's own code; or empty
  findings::Severity severity = findings::Severity::kInfo;
  bool selected = false;
  std::vector<EvidenceLink> evidence;
  // The recommendation; empty texts without one.
  std::string advice;
  std::vector<std::string> patch;  // one change per line
  report::GainText gain;
  std::string memory;
  bool can_verify = false;
  std::string cannot_verify;  // why
  bool verifying = false;
  std::vector<std::pair<std::string, std::string>> code;  // framework, code
  std::string diff;                                       // of the user's own source; or empty
  std::vector<std::string> by_hand;                       // what the diff cannot express
  std::string source;  // the lines around `where` if there is no diff; "> " marks the line itself
};

struct FindingsModel {
  std::string nothing;  // why there are none; empty
  std::string assumed;  // AssumedOn; empty
  std::vector<FindingCard> cards;
  bool verifying = false;
  std::string verify_text;  // "runs: 2 of 6"
  std::string verify_error;
};

FindingsModel BuildFindings(const session::State& state);

// Why a recommendation for this run cannot be measured; empty if it can.
std::string WhyNotVerify(const model::Run& run, const findings::Recommendation& recommendation);
// The row of the same rule's finding about the same stage: in another part of the run, or in all.
std::optional<size_t> SameFinding(const report::Report& report, const report::FindingRow& finding);

}  // namespace stallscope::viewmodel
