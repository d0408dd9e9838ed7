// What is under the pointer on the timeline. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gui/viewmodel/timeline.h"

namespace stallscope::viewmodel {

struct TimelineHit {
  size_t row = kNoRow;
  int64_t time_ns = 0;
  std::optional<session::IntervalRef> interval;
  std::optional<uint64_t> step_row;
  std::optional<timeline::Segment> slice;  // of a device's time; its kind is a Category
  std::optional<float> value;              // of a queue or counter
};
// Takes less than a microsecond.
TimelineHit HitTest(const TimelineModel& model, const session::State& state, double x, double y);

// The lines of a tooltip, with exact ns; empty if nothing is hit.
std::vector<std::string> TooltipOf(const TimelineModel& model, const session::State& state,
                                   const TimelineHit& hit);

}  // namespace stallscope::viewmodel
