// The timeline as rows of pixel columns, and the marks over them.
//
// x is a pixel column of the lanes' area, from 0; y is in lines of text, from the top of all lanes.
// Costs only what is visible: the rows from `first_row` that fit into the panel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gui/session/state.h"
#include "gui/viewmodel/axis.h"
#include "gui/viewmodel/lanes.h"

namespace stallscope::viewmodel {

// A stall wide enough to be visible: hatched over all lanes.
struct StallBand {
  float x0 = 0;
  float x1 = 0;
  uint64_t step_row = 0;
  bool selected = false;
};

// A piece of the blame chain or of an element's path: on a lane, joined to the previous piece.
struct ChainPiece {
  float x0 = 0;
  float x1 = 0;
  size_t row = 0;     // of `rows`; kNoRow: the lane is not visible
  std::string text;   // "decode: cpu, 3.20 ms"
  std::string brief;  // "decode"; may be empty
  Paint paint = Paint::kChain;
  int depth = 0;
};

// A window of the causal check in which a stage was slowed on purpose.
struct ProbeBand {
  float x0 = 0;
  float x1 = 0;
  std::string text;   // "decode slowed by 25%"
  std::string brief;  // "decode"
};

struct SelectedMark {
  float x0 = 0;
  float x1 = 0;
  size_t row = kNoRow;
};

struct TimelineModel {
  session::Range visible;
  session::Range whole;       // of the run
  int64_t origin_ns = 0;      // displayed times count from here
  int width = 0;              // of the lanes' area in columns
  int name_width = 0;         // of the names' area, in pixels
  float rows_height = 0;      // of all lanes, in lines: for the scroll bar
  std::vector<LaneRow> rows;  // the visible ones, from the top
  std::vector<Tick> ticks;
  std::vector<StallBand> stalls;
  std::vector<ProbeBand> probes;
  std::vector<ChainPiece> chain;
  std::vector<ChainPiece> path;
  std::optional<SelectedMark> selected;
  std::optional<std::pair<float, float>> measured;  // x0, x1
  std::string measured_text;                        // "4.12 ms (4,123,456 ns), 12 steps"
  std::optional<std::pair<float, float>> range;     // that limits the panels
  std::vector<std::pair<float, std::string>> bookmarks;
  uint64_t drawn = 0;  // grows when rows are redrawn: upload textures then
};

// Redraws only what changed since the last call. Called on one thread; draws lanes on two.
class TimelineBuilder {
 public:
  explicit TimelineBuilder(unsigned threads = 2);
  ~TimelineBuilder();
  TimelineBuilder(const TimelineBuilder&) = delete;
  TimelineBuilder& operator=(const TimelineBuilder&) = delete;

  // Null if the active run has no index yet.
  std::shared_ptr<const TimelineModel> Build(const session::State& state);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// The width of the names' area in a panel of this size.
int NameWidth(const session::PanelSize& size);

int64_t TimeAtX(const TimelineModel& model, double x);
double XAtTime(const TimelineModel& model, int64_t time_ns);

}  // namespace stallscope::viewmodel
