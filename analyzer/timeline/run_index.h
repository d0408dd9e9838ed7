// A whole run, prepared for drawing: one lane of disjoint segments per track, the steps, and the
// values of queues and counters over time. Made once, then only read; any thread. Keeps the run
// alive, because the lanes of plain tracks read its columns in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "analyzer/model/run.h"
#include "analyzer/timeline/lane_index.h"
#include "analyzer/timeline/nesting.h"
#include "analyzer/timeline/series_index.h"

namespace stallscope::timeline {

// What a segment of a track's lane is: its span's class (kSpanKind + class), a kernel, or a copy.
constexpr uint16_t kMostSpanKinds = 65'531;
constexpr uint16_t kComputeKind = 65'531;
constexpr uint16_t kCommunicationKind = 65'532;
constexpr uint16_t kCopyKind = 65'533;  // + CopyDirection

struct RunIndex {
  std::shared_ptr<const model::Run> run;
  model::TimeRange window;            // of the whole trace
  std::vector<LaneIndex> tracks;      // as long as Run::tracks; some are empty
  std::vector<Nesting> nested;        // as many; of tracks with nothing but spans
  std::vector<SeriesIndex> queues;    // depths; as long as Run::queues
  std::vector<SeriesIndex> counters;  // as long as Run::counters; rates of cumulative ones
  std::vector<model::StepInterval> step_times;  // as long as Run::rows.steps
  LaneIndex steps;  // of the lowest rank, kinds 0 and 1 alternating; `index` is the row

  size_t Bytes() const;  // that it needs beyond the run
};

// Recognizes a reduction kernel by its name.
using IsCommunication = bool (*)(std::string_view kernel);

// A track's kernels and copies take precedence over its spans where both are active.
RunIndex MakeRunIndex(std::shared_ptr<const model::Run> run, IsCommunication is_communication,
                      unsigned threads = 2);

}  // namespace stallscope::timeline
