// A finding as a card of the document, and what its change gains, in words: for every form, and for
// the window. Any thread.
#pragma once

#include <cstddef>
#include <string>

#include "analyzer/report/document.h"
#include "analyzer/report/report.h"

namespace stallscope::report {

// `report`: the finding's own, for the command that writes the change.
FindingCard CardOf(const FindingRow& finding, const Report& report, size_t number);

// One change per line, and a valid patch file as a whole; empty without a change.
std::string PatchText(const Patch& patch);

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

}  // namespace stallscope::report
