// Spans that lie inside each other, as rows that are drawn one below the other.
//
// What encloses others stands in a row above them. A wait does not open a row: it stands in that of
// the work that it interrupts, which it is cut out of. What overlaps without lying inside is put
// below, too. Made once, then only read; any thread.
#ifndef STALLSCOPE_ANALYZER_TIMELINE_NESTING_H_
#define STALLSCOPE_ANALYZER_TIMELINE_NESTING_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/model/run.h"
#include "analyzer/timeline/lane_index.h"

namespace stallscope::timeline {

// Deeper work shares the last row, each instant to the innermost.
constexpr size_t kMostNestedRows = 8;

struct Nesting {
  std::vector<LaneIndex> rows;     // two or more; empty where no work lies inside other work
  std::vector<uint8_t> span_rows;  // of each span; empty likewise
};

// In a time that grows with the number of spans alone, however deep they are.
Nesting NestingOf(const model::Run& run, const model::Track& track);

}  // namespace stallscope::timeline

#endif  // STALLSCOPE_ANALYZER_TIMELINE_NESTING_H_
