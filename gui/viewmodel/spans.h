// The table of all intervals: only visible rows become text. Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "gui/session/state.h"
#include "gui/viewmodel/steps.h"
#include "gui/viewmodel/table.h"

namespace stallscope::viewmodel {

struct SpansModel {
  std::string nothing;                  // why there are none; empty
  size_t rows = 0;                      // of the list
  size_t all = 0;                       // of the run
  std::string count;                    // "1,234 of 10,000,000"
  std::string problem;                  // of the filter; empty
  bool busy = false;                    // filtering or sorting
  std::vector<std::string> statistics;  // of the selected rows, else of the list
  Histogram histogram;                  // of their durations, logarithmic
  std::array<std::string_view, session::kSpanColumns> columns;
  session::SpanColumn sort = session::SpanColumn::kStart;
  bool descending = false;
};

SpansModel BuildSpans(const session::State& state);

struct SpanRowText {
  std::array<std::string, session::kSpanColumns> cells;
  session::IntervalRef ref;
  bool selected = false;
};
// Row `row` of the list; below SpansModel::rows.
SpanRowText SpanRowAt(const session::State& state, size_t row);
// Rows for copying, limited to what a clipboard can take.
constexpr size_t kMostCopiedRows = 100'000;
Table SpanRows(const session::State& state, size_t first, size_t last);

}  // namespace stallscope::viewmodel
