// Nested spans, as rows that are drawn one below the other.
//
// An enclosing span is in a row above those inside it. A wait does not open a row: it is in the row
// of the work that it interrupts, and is cut out of that work. Spans that overlap without nesting
// go below, too. Made once, then only read; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/model/run.h"
#include "analyzer/timeline/lane_index.h"

namespace stallscope::timeline {

// Deeper work shares the last row, where each instant goes to the innermost.
constexpr size_t kMostNestedRows = 8;

struct Nesting {
  std::vector<LaneIndex> rows;     // two or more; empty where no work lies inside other work
  std::vector<uint8_t> span_rows;  // of each span; empty if `rows` is
};

// The time depends only on the number of spans, however deeply they nest.
Nesting NestingOf(const model::Run& run, const model::Track& track);

}  // namespace stallscope::timeline
