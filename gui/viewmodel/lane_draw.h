// Draws one lane of a plan into columns. Private to the room; any thread.
#ifndef STALLSCOPE_GUI_VIEWMODEL_LANE_DRAW_H_
#define STALLSCOPE_GUI_VIEWMODEL_LANE_DRAW_H_

#include <cstdint>
#include <span>
#include <vector>

#include "gui/session/open_run.h"
#include "gui/viewmodel/timeline.h"

namespace stallscope::viewmodel {

struct DrawnLane {
  std::vector<Texel> texels;
  std::vector<SeriesTexel> series;
  std::vector<Label> labels;
};

// What all lanes of one picture share.
struct LanePicture {
  const session::OpenRun& open;
  session::Range visible;
  std::vector<int64_t> bounds;  // of the columns
  float character = 8;          // in columns
};

DrawnLane DrawLane(const LanePicture& picture, const LanePlan::Entry& entry);
// The row of an entry at this height, with what was drawn for it.
LaneRow RowOf(const LanePlan::Entry& entry, float y, DrawnLane drawn);

// The lane that a row shows; null for groups, queues and counters.
const timeline::LaneIndex* LaneOf(const session::OpenRun& open, LaneKind kind, TrackId track,
                                  size_t index, size_t depth);
// What a segment of a track's lane looks like.
Paint PaintOfKind(const model::Run& run, const model::Track& track, uint16_t kind);

}  // namespace stallscope::viewmodel

#endif  // STALLSCOPE_GUI_VIEWMODEL_LANE_DRAW_H_
