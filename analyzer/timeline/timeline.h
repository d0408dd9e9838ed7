// Level of detail: what a lane of intervals looks like when drawn into a given number of columns.
//
// Exact: the busy fraction of a column is the part of its time that intervals cover, whatever
// their number, so a million spans of one microsecond look neither like one long span nor like
// none. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/model/run.h"

namespace stallscope::timeline {

// One row of a picture. `busy[layer][column]` is 0 to 1; the layers of a column add up to at
// most 1 (float).
struct Lane {
  std::string name;
  std::vector<std::string> layers;
  std::vector<std::vector<float>> busy;
};

struct Interval {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

// The part of each of `columns` equal columns of `range` that is covered. Intervals may come in any
// order and overlap: what is covered twice counts once. Columns begin on whole nanoseconds; if
// there are more columns than nanoseconds, all columns within one show the same.
std::vector<float> BusyFractions(std::vector<Interval> intervals, model::TimeRange range,
                                 size_t columns);

// The stages' lanes, by id: how the time of a stage's workers in each column divides into work,
// waiting for input, waiting for room, and other waits. Layers "work", "empty", "full", "wait". A
// span inside another counts for itself: a read inside a map is "wait", not "work". A stage that
// runs in another's threads is drawn as a part of their time.
std::vector<Lane> StageLanes(const model::Run& run, model::TimeRange range, size_t columns);

}  // namespace stallscope::timeline
