// Step times: their distribution, their course over the run, outliers. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gui/session/state.h"
#include "gui/viewmodel/paint.h"
#include "gui/viewmodel/table.h"

namespace stallscope::viewmodel {

struct Histogram {
  double low = 0;   // of the first bin
  double high = 0;  // of the last one
  std::string unit;
  std::vector<uint64_t> bins;
  uint64_t most = 0;
  uint64_t below = 0;  // beyond either end
  uint64_t above = 0;
  std::string beyond;  // "3 more, up to 42.7 ms"; empty: all values are in the bins
  std::vector<std::string> tick_texts;  // at equal distances from low to high
};
// Covers all values but far outliers.
Histogram MakeHistogram(std::vector<double> values, size_t bins, const std::string& unit);

struct StepDot {
  float x = 0;  // 0 to 1 of the time axis
  float y = 0;  // 0 to 1 of the duration axis, from the bottom
  uint64_t step_row = 0;
  Paint paint = Paint::kCompute;  // the largest category of the step
  bool outlier = false;
  bool warm_up = false;
  bool selected = false;
};

struct StepsModel {
  std::string nothing;               // why there are none; empty
  std::vector<std::string> summary;  // "200 steps", "p50 12.1 ms, p95 14.0 ms, p99 20.3 ms"
  Histogram histogram;
  std::vector<StepDot> dots;  // thinned beyond a few thousand; keeps outliers
  double y_max_ms = 0;
  session::Range times;              // of the x axis
  std::vector<std::string> y_ticks;  // from the bottom, at equal distances
  Table outliers;
  std::vector<uint64_t> outlier_rows;
};

StepsModel BuildSteps(const session::State& state);

// The nearest dot within reach (as fractions of the axes); kNoDot if there is none.
constexpr size_t kNoDot = static_cast<size_t>(-1);
size_t DotAt(const StepsModel& model, float x, float y, float reach_x, float reach_y);
std::vector<std::string> StepTooltip(const session::State& state, uint64_t step_row);

}  // namespace stallscope::viewmodel
