// What part of a run is looked at: values that views show, intents change and undo brings back.
// Times are the trace's own nanoseconds. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analyzer/attribution/category.h"
#include "analyzer/base/ids.h"
#include "gui/session/panel.h"

namespace stallscope::session {

struct Range {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t ns() const { return end_ns - start_ns; }
  bool operator==(const Range&) const = default;
};

// Which table of the run an interval lies in: a track's spans, the copies or the kernels.
enum class IntervalKind : uint8_t { kSpan, kCopy, kKernel };

struct IntervalRef {
  IntervalKind kind = IntervalKind::kSpan;
  TrackId track;
  uint64_t index = 0;  // within the track's spans, or the table
  bool operator==(const IntervalRef&) const = default;
};

// At most one of interval and step, and what goes with it. An element or batch may be followed
// while something else is selected.
struct Selection {
  std::optional<IntervalRef> interval;
  std::optional<uint64_t> step_row;  // of Run::rows.steps: the step and the stall in it
  StageId stage;
  std::optional<attribution::Cause> cause;  // with a stage: one cell of the blame matrix
  ItemId followed;                          // the element or batch whose path is drawn
  std::optional<size_t> finding;            // row of Report::findings
  bool operator==(const Selection&) const = default;
};

// What undo (Alt+Left) brings back.
struct View {
  Panel panel = Panel::kOverview;
  Range visible;               // of the timeline, and of everything that is drawn over time
  std::optional<Range> range;  // limits every panel to it
  Selection selected;
  bool operator==(const View&) const = default;
};

// Not undone: where lists stand.
struct Layout {
  double first_row = 0;             // of the timeline's lanes, in rows of text
  std::set<std::string> collapsed;  // keys of lane groups
  bool operator==(const Layout&) const = default;
};

struct Bookmark {
  std::string name;
  Range visible;
  bool operator==(const Bookmark&) const = default;
};

}  // namespace stallscope::session
