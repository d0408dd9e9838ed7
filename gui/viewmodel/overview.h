// The first panel: trust, verdict, where the time goes, what to change. Any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/report/finding_cards.h"
#include "gui/session/state.h"
#include "gui/viewmodel/paint.h"

namespace stallscope::viewmodel {

struct TrustLine {
  std::string text;
  bool complete = true;  // false: shown in red
  std::vector<std::string> warnings;
};

// A part of the breakdown bar; parts follow each other from 0 to 1.
struct BreakdownPart {
  Paint paint = Paint::kOther;
  std::string name;
  double begin = 0;
  double end = 0;
  std::string text;     // "41.2%"
  std::string tooltip;  // exact ns, interval
};

struct Advice {
  size_t finding = 0;           // row of the whole run's findings
  std::optional<size_t> shown;  // row of the findings that are shown; nothing: not in the range
  std::string text;             // "set decode.parallelism to 4"
  std::string cannot_verify;    // why it cannot be measured; empty: it can
  report::GainText gain;
  std::string cost;  // "costs 12.0 MiB"; empty
  std::string why;   // the finding's text
};

struct Figure {
  std::string name;
  std::string text;
  std::string tooltip;
};

struct OverviewModel {
  std::string title;  // the run's name
  std::string range;  // "steps 20 to 40, 1.2 s" where a range limits it; else empty
  TrustLine trust;
  std::string assumed;   // AssumedOn; empty
  std::string verdict;   // "input-bound: decode (cpu)"
  std::string sentence;  // the verdict in a sentence
  Paint verdict_paint = Paint::kOther;
  double confidence = 0;
  std::vector<std::string> doubts;
  std::vector<BreakdownPart> breakdown;
  std::vector<Advice> advice;   // at most three; with a range still of the whole run
  std::string no_advice;        // why there is none; else empty
  std::vector<Figure> figures;  // throughput, step time, steps, window, memory
};

OverviewModel BuildOverview(const session::State& state);

// For every panel. Also reports the state of a file that is being followed.
TrustLine TrustOf(const session::OpenRun& run);

}  // namespace stallscope::viewmodel
