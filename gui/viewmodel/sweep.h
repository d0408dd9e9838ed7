// A sweep as pictures: heat map of two knobs, lines of one, the Pareto front, predicted against
// measured. Positions are 0 to 1, from the left and the bottom. Any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/report/sweep_table.h"
#include "gui/session/state.h"
#include "gui/viewmodel/table.h"

namespace stallscope::viewmodel {

struct PlotPoint {
  float x = 0;
  float y = 0;
  float low = 0;  // error bar on y; low == high: none
  float high = 0;
  float x_low = 0;  // the same for x
  float x_high = 0;
  size_t row = 0;  // of the sweep's table
  bool best = false;
  bool base = false;
  std::string tooltip;
};

struct PlotLine {
  std::string name;
  bool measured = false;  // solid; predicted: dashed
  std::vector<PlotPoint> points;
};

struct Plot {
  std::string title;
  std::string x_name;
  std::string y_name;
  std::vector<std::string> x_ticks;  // at equal distances over the whole axis
  std::vector<std::string> y_ticks;
  std::vector<PlotLine> lines;  // joined
  std::vector<PlotPoint> dots;  // not joined
};

struct SweepHeat {
  std::string x_path;
  std::string y_path;
  std::vector<std::string> x_values;
  std::vector<std::string> y_values;
  struct Cell {
    std::optional<double> rate;
    float level = 0;  // 0 slowest to 1 fastest
    bool measured = false;
    bool best = false;
    bool base = false;
    std::string text;
    std::string tooltip;
  };
  std::vector<std::vector<Cell>> cells;  // [y][x]; the best over all other knobs
};

// A knob that can be varied, for the list.
struct KnobChoice {
  std::string path;
  std::string value;
  std::string suggestion;  // "decode.parallelism=1,2,4,8"
  std::string doc;
};

struct SweepModel {
  std::string nothing;  // why nothing can be varied; empty
  std::vector<KnobChoice> knobs;
  std::string points_text;  // "12 points, 24 runs"
  bool can_start = false;
  bool running = false;
  double done = 0;
  std::string progress;  // "runs: 3 of 24"
  std::string error;
  std::string assumed;            // why figures are not those of the real run; empty
  std::optional<SweepHeat> heat;  // with two knobs or more
  std::vector<Plot> lines;        // one per knob
  std::optional<Plot> pareto;     // memory against throughput
  std::optional<Plot> accuracy;   // predicted against measured, with error bars
  std::string accuracy_text;
  Table table;
  std::vector<std::string> warnings;
};

SweepModel BuildSweep(const session::State& state);

// Over the first two knobs; nothing with fewer.
std::optional<SweepHeat> HeatOf(const report::SweepTable& table);
// For each knob, the best rate at each value, predicted and measured.
std::vector<Plot> LinesOf(const report::SweepTable& table);
// Nothing if no row has memory and rate.
std::optional<Plot> ParetoOf(const report::SweepTable& table);
// Nothing if no row has both figures.
std::optional<Plot> AccuracyOf(const report::SweepTable& table);

}  // namespace stallscope::viewmodel
