// What each lane of a run looks like in columns. Any thread.
//
// x is a pixel column of the lanes' area, from 0; y is in lines of text, from the top of all lanes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/timeline/lane_index.h"
#include "gui/session/view.h"
#include "gui/viewmodel/lane_plan.h"
#include "gui/viewmodel/paint.h"

namespace stallscope::viewmodel {

// One column of a lane: one texel of its texture.
struct Texel {
  uint8_t busy = 0;               // 0 to 255: the exact covered fraction
  Paint paint = Paint::kNothing;  // what covers most of it
  bool operator==(const Texel&) const = default;
};

struct SeriesTexel {
  float low = 0;  // 0 to 1 of the lane's height
  float high = 0;
  float mean = 0;
  bool known = false;
};

// The label of a segment that is wide enough for some text.
struct Label {
  float x0 = 0;
  float x1 = 0;
  std::string text;
  std::string brief;  // a shorter form; may be empty
  Paint paint = Paint::kNothing;
};

struct DrawnLane {
  std::vector<Texel> texels;        // one per pixel column; empty for queues and counters
  std::vector<SeriesTexel> series;  // the same, for queues and counters
  std::vector<Label> labels;
};

struct LaneRow : Lane, DrawnLane {
  float y = 0;  // in lines
};

// Shared by all lanes of one picture.
struct LanePicture {
  const session::OpenRun& open;
  session::Range visible;
  std::vector<int64_t> bounds;  // of the columns
  float character = 8;          // in columns
};

DrawnLane DrawLane(const LanePicture& picture, const Lane& lane);

// The lane that a row shows; null for groups, queues and counters.
const timeline::LaneIndex* LaneOf(const session::OpenRun& open, LaneKind kind, TrackId track,
                                  size_t index, size_t depth);
// The paint of a segment on a track's lane.
Paint PaintOfKind(const model::Run& run, const model::Track& track, uint16_t kind);

}  // namespace stallscope::viewmodel
