// Two runs side by side. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/compare/compare.h"
#include "gui/session/state.h"
#include "gui/viewmodel/axis.h"
#include "gui/viewmodel/lanes.h"
#include "gui/viewmodel/table.h"

namespace stallscope::viewmodel {

// One run's stages as lanes, over the range that is linked to the other run's.
struct CompareSide {
  std::string title;
  session::Range visible;
  std::vector<LaneRow> rows;
  std::vector<Tick> ticks;
};

struct StepOverlay {
  double low = 0;
  double high = 0;
  std::vector<uint64_t> base;  // bins from low to high
  std::vector<uint64_t> now;
  double most = 0;  // the largest fraction of either side
  std::vector<std::string> tick_texts;
  std::string beyond;  // "3 more, up to 42.7 ms": far outliers of either side, in no bin
};

struct CompareModel {
  std::string nothing;  // how to get a comparison; empty if there is one
  std::vector<std::pair<session::RunNumber, std::string>> choices;  // for the base
  std::string answer;                                               // "faster"
  compare::Answer verdict = compare::Answer::kInconclusive;
  std::string text;     // the sentence of the statistics
  std::string assumed;  // AssumedOn; empty
  std::vector<std::string> warnings;
  std::vector<std::string> spec_change;  // one change per line
  Table totals;                          // throughput, step times, categories: base, now, change
  Table stages;                          // service, busy, capacity: base, now, change
  StepOverlay steps;                     // histograms of both sides
  CompareSide base;
  CompareSide now;
  bool linked = true;
};

// `columns` of each side's lanes.
CompareModel BuildCompare(const session::State& state, int columns);

}  // namespace stallscope::viewmodel
