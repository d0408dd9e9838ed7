// Plots: axes, histograms, points with lines and error bars, time axes. Only on the context's
// thread.
#pragma once

#include <imgui.h>

#include <string>
#include <vector>

#include "gui/session/state.h"
#include "gui/viewmodel/steps.h"
#include "gui/viewmodel/sweep.h"

namespace stallscope::views {

// The area inside the axes, on the screen.
struct PlotArea {
  ImVec2 from;
  ImVec2 to;
  // `x` and `y` are 0 to 1, from the left and the bottom.
  ImVec2 At(float x, float y) const {
    return {from.x + x * (to.x - from.x), to.y - y * (to.y - from.y)};
  }
  bool Hovered() const;
  // The pointer in the same units; may be outside.
  ImVec2 Pointer() const;
};

// Ticks are equally spaced over the whole axis, from end to end. The name of the y axis is above
// it. An item of this size.
PlotArea DrawAxes(const char* id, ImVec2 size, const std::vector<std::string>& x_ticks,
                  const std::vector<std::string>& y_ticks, const std::string& x_name,
                  const std::string& y_name);

void DrawHistogram(const char* id, const viewmodel::Histogram& histogram, ImVec2 size,
                   const std::string& x_name, const std::string& y_name);

// Measured is solid and filled, predicted dashed and hollow. `diagonal` adds the line x = y.
void DrawPlot(const char* id, const viewmodel::Plot& plot, ImVec2 size, bool diagonal = false);

// From `from` to x = `right`: round times since the start of the run, as many as fit.
void PutTimeAxis(ImDrawList& list, ImVec2 from, float right, const session::Range& range,
                 const session::State& state);
float TimeAxisHeight();

}  // namespace stallscope::views
