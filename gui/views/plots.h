// Pictures of numbers: axes, histograms, points with lines and error bars, times below. The thread
// of the context.
#ifndef STALLSCOPE_GUI_VIEWS_PLOTS_H_
#define STALLSCOPE_GUI_VIEWS_PLOTS_H_

#include <imgui.h>

#include <string>
#include <vector>

#include "gui/session/state.h"
#include "gui/viewmodel/steps.h"
#include "gui/viewmodel/sweep.h"

namespace stallscope::views {

// What lies inside the axes, on the screen.
struct PlotArea {
  ImVec2 from;
  ImVec2 to;
  // Of 0 to 1, from the left and from the bottom.
  ImVec2 At(float x, float y) const {
    return {from.x + x * (to.x - from.x), to.y - y * (to.y - from.y)};
  }
  bool Hovered() const;
  // Where the pointer is, likewise; may lie outside.
  ImVec2 Pointer() const;
};

// Ticks stand at equal distances over the whole axis, the first and the last at its ends. The
// y axis' name stands above it. Takes the room `size` as an item.
PlotArea DrawAxes(const char* id, ImVec2 size, const std::vector<std::string>& x_ticks,
                  const std::vector<std::string>& y_ticks, const std::string& x_name,
                  const std::string& y_name);

void DrawHistogram(const char* id, const viewmodel::Histogram& histogram, ImVec2 size,
                   const std::string& x_name, const std::string& y_name);

// Measured is solid and filled, predicted dashed and hollow. With `diagonal` the line on which both
// axes are the same is drawn.
void DrawPlot(const char* id, const viewmodel::Plot& plot, ImVec2 size, bool diagonal = false);

// From `from` to x = `right`: round times since the run's start, as many as fit.
void PutTimeAxis(ImDrawList& list, ImVec2 from, float right, const session::Range& range,
                 const session::State& state);
float TimeAxisHeight();

}  // namespace stallscope::views

#endif  // STALLSCOPE_GUI_VIEWS_PLOTS_H_
