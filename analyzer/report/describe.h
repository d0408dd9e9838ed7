// A report or a comparison as a document: the one place that decides what is said, in what words
// and order, for every form. Any thread.
#pragma once

#include <string>
#include <vector>

#include "analyzer/report/document.h"
#include "analyzer/report/report.h"

namespace stallscope::report {

Document DocumentOf(const Report& report);
Document DocumentOf(const compare::Comparison& comparison);

// --- What the window shows, too ---

// The largest ops of each stage.
Table OpTable(const Report& report);

// What a change gains, in pieces, for a form that sets them apart: a measurement comes first and
// large, and a prediction beside one is small.
struct GainText {
  std::string factor;     // "1.76x": measured, else predicted; empty: neither
  std::string beside;     // "measured, 1.70x to 1.82x in 2 runs", or why there is no factor
  std::string predicted;  // beside a measurement: "predicted 1.80x (1.60x to 1.90x)"; else empty
  std::string disturbed;  // why the measurement may be off; empty
  bool measured = false;
};
GainText GainOf(const findings::Recommendation& recommendation);
// "1.76x (1.70 to 1.82, 2 runs)"
std::string MeasuredPhrase(const findings::Measurement& measured);

// The same in a line: "measured 1.76x (1.70 to 1.82, 2 runs), predicted 1.80x (1.60 to 1.90)", or
// why there is no gain; empty where nothing is known.
std::string GainPhrase(const findings::Recommendation& recommendation);

struct BudgetCounts {
  size_t errors = 0;
  size_t warnings = 0;
  size_t inconclusive = 0;  // of level error
};
BudgetCounts CountChecks(const std::vector<CheckRow>& checks);
// "5 of 6 checks held, 1 failed"
std::string BudgetPhrase(const std::vector<CheckRow>& checks);

}  // namespace stallscope::report
