// Blame by stage and cause, and over time. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/attribution/category.h"
#include "gui/session/state.h"
#include "gui/viewmodel/table.h"

namespace stallscope::viewmodel {

struct MatrixCell {
  int64_t ns = 0;
  double share = 0;  // of all input stall
  std::string text;  // "41.2%"; empty for nothing
  std::string tooltip;
  bool selected = false;
};

struct HeatRow {
  StageId stage;
  attribution::Cause cause = attribution::Cause::kUnknown;
  std::string name;            // "decode: cpu"
  std::vector<float> columns;  // fraction of each column's time, 0 to 1
};

struct StallsModel {
  std::string total;            // "1.23 s of input stall, 41.2% of the measured window"
  std::string nothing;          // why there is none; empty
  std::vector<StageId> stages;  // rows of the matrix
  std::vector<std::string> stage_names;
  std::vector<attribution::Cause> causes;      // columns: those that occur
  std::vector<std::vector<MatrixCell>> cells;  // [stage][cause]
  std::vector<std::string> stage_totals;
  std::vector<std::string> cause_totals;
  // Blame over time: the rows with the most, over `visible`.
  session::Range visible;
  std::vector<HeatRow> heat;
  float heat_max = 0;  // of all columns
  // The longest stalls: step, duration, main cause.
  Table worst;
  std::vector<uint64_t> worst_rows;  // step rows of `worst`
};

StallsModel BuildStalls(const session::State& state, size_t columns);

// The time range of a heat column.
session::Range HeatColumn(const StallsModel& model, size_t columns, size_t column);

}  // namespace stallscope::viewmodel
