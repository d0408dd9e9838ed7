// The lanes of a run: which there are, in which order, and what each looks like in columns. Any
// thread.
//
// x is a pixel column of the lanes' area, from 0; y is in lines of text, from the top of all lanes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "analyzer/timeline/lane_index.h"
#include "gui/session/open_run.h"
#include "gui/viewmodel/paint.h"

namespace stallscope::viewmodel {

constexpr size_t kNoRow = static_cast<size_t>(-1);

enum class LaneKind : uint8_t {
  kSteps,       // one segment per step
  kCategories,  // of a device's time
  kStage,       // its threads together
  kThread,
  kStream,
  kCopyEngine,
  kSampler,
  kQueue,  // depth over time
  kCounter
};

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

// For a thread with nested work: all depths in one row.
constexpr size_t kAllDepths = static_cast<size_t>(-1);

struct LaneRow {
  LaneKind kind = LaneKind::kThread;
  std::string key;  // of ToggleLane
  std::string name;
  std::string detail;  // "4 workers, 98% busy", "0 to 16"
  int indent = 0;
  bool group = false;  // has lanes below it
  bool collapsed = false;
  float y = 0;  // in lines
  float height = 1;
  TrackId track;  // of a thread, stream or copy engine
  StageId stage;
  size_t index = 0;                 // of a queue, counter or device
  size_t depth = kAllDepths;        // of a thread
  std::vector<Texel> texels;        // one per pixel column; empty for queues and counters
  std::vector<SeriesTexel> series;  // the same, for queues and counters
  std::vector<Label> labels;
};

// The lanes of a run in order, without collapsed ones. Cheap: no columns.
struct LanePlan {
  // Every member has an initializer, so that naming only some gives no warning.
  struct Entry {
    LaneKind kind = LaneKind::kThread;
    std::string key = {};
    std::string name = {};
    std::string detail = {};
    int indent = 0;
    bool group = false;
    bool collapsed = false;
    float height = 1;
    TrackId track = {};
    StageId stage = {};
    size_t index = 0;
    size_t depth = kAllDepths;
    std::vector<TrackId> members = {};  // of a group: the tracks that it is drawn from
  };
  std::vector<Entry> entries;
};
// A counter's value with its unit: "1.20 GB/s", "72.4% of the time", "312 MiB". A cumulative one
// has its rate.
std::string CounterText(const trace::CounterInfo& counter, double value);
LanePlan PlanLanes(const session::OpenRun& run, const std::set<std::string>& collapsed);

struct DrawnLane {
  std::vector<Texel> texels;
  std::vector<SeriesTexel> series;
  std::vector<Label> labels;
};

// Shared by all lanes of one picture.
struct LanePicture {
  const session::OpenRun& open;
  session::Range visible;
  std::vector<int64_t> bounds;  // of the columns
  float character = 8;          // in columns
};

DrawnLane DrawLane(const LanePicture& picture, const LanePlan::Entry& entry);
// The row of an entry at `y`, with its drawn lane.
LaneRow RowOf(const LanePlan::Entry& entry, float y, DrawnLane drawn);

// The lane that a row shows; null for groups, queues and counters.
const timeline::LaneIndex* LaneOf(const session::OpenRun& open, LaneKind kind, TrackId track,
                                  size_t index, size_t depth);
// The paint of a segment on a track's lane.
Paint PaintOfKind(const model::Run& run, const model::Track& track, uint16_t kind);

}  // namespace stallscope::viewmodel
