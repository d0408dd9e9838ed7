// The stage graph as boxes and pipes. Coordinates are in lines of text, from the top left. Any
// thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "gui/session/state.h"
#include "gui/viewmodel/paint.h"
#include "gui/viewmodel/table.h"

namespace stallscope::viewmodel {

struct StageBox {
  StageId stage;
  std::string name;
  std::string kind;
  std::vector<std::string> lines;  // "4 workers", "12.1 ms each"
  float x = 0;
  float y = 0;
  float width = 0;
  float height = 0;
  std::optional<double> utilization;  // the fill, 0 to 1
  Paint paint = Paint::kStage0;
  bool bottleneck = false;
  bool selected = false;
  std::string marked;  // "bottleneck: cpu"; empty
  std::vector<std::string> tooltip;
};

// From one box to the next, through a queue where there is one.
struct Pipe {
  size_t from = 0;  // of `boxes`
  size_t to = 0;
  float x0 = 0;
  float y0 = 0;
  float x1 = 0;
  float y1 = 0;
  float width = 0;   // by throughput
  std::string text;  // "1,230/s"
  struct Gauge {
    std::string name;
    uint64_t capacity = 0;        // 0: unknown
    std::optional<double> mean;   // depth / capacity, 0 to 1
    std::optional<double> empty;  // fractions of the time
    std::optional<double> full;
    std::string text;  // "3.1 of 16"
  };
  std::optional<Gauge> queue;
  std::vector<std::string> tooltip;
};

struct PipelineModel {
  std::vector<StageBox> boxes;  // the trainer is the last one
  std::vector<Pipe> pipes;
  float width = 0;
  float height = 0;
  std::string nothing;  // why there is no graph; empty
  Table stages;
  Table ops;  // of a job's stages
};

// `width` of the panel in lines of text: a chain that does not fit is folded.
PipelineModel BuildPipeline(const session::State& state, float width);

}  // namespace stallscope::viewmodel
