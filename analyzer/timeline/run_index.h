// A whole run, prepared for drawing: one lane of disjoint segments a track, the device's
// categories, the steps, and the values of queues and counters over time. Made once, then only
// read; any thread. Holds the run alive, because the lanes of plain tracks read its columns in
// place.
#ifndef STALLSCOPE_ANALYZER_TIMELINE_RUN_INDEX_H_
#define STALLSCOPE_ANALYZER_TIMELINE_RUN_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "analyzer/model/run.h"
#include "analyzer/timeline/lane_index.h"
#include "analyzer/timeline/series_index.h"

namespace stallscope::timeline {

struct TrackLane {
  TrackId track;
  // Segments name spans, of a stream's or copy engine's lane first its spans, then its kernels and
  // copies by Origin.
  LaneIndex lane;
};

struct RunIndex {
  std::shared_ptr<const model::Run> run;
  model::TimeRange window;            // of the whole trace
  std::vector<TrackLane> tracks;      // as long as Run::tracks; some are empty
  std::vector<SeriesIndex> queues;    // depths; as long as Run::queues
  std::vector<SeriesIndex> counters;  // as long as Run::counters
  std::vector<model::StepInterval> steps;

  size_t Bytes() const;  // that the index needs beyond the run's
};

RunIndex MakeRunIndex(std::shared_ptr<const model::Run> run, unsigned threads = 2);

}  // namespace stallscope::timeline

#endif  // STALLSCOPE_ANALYZER_TIMELINE_RUN_INDEX_H_
