#include "gui/views/histogram_view.h"

#include <algorithm>
#include <cmath>

#include "gui/viewmodel/format.h"
#include "gui/views/look.h"
#include "gui/views/plot_frame.h"
#include "gui/views/text.h"

namespace stallscope::views {

void DrawHistogram(const char* id, const viewmodel::Histogram& histogram, ImVec2 size,
                   const std::string& x_name, const std::string& y_name) {
  const Look& look = TheLook();
  const PlotArea area =
      DrawAxes(id, size, histogram.tick_texts,
               {"0", viewmodel::Grouped(std::max<uint64_t>(1, histogram.most))}, x_name, y_name);
  if (histogram.bins.empty() || histogram.most == 0) return;
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const auto bins = static_cast<float>(histogram.bins.size());
  const float top = 0.96f;
  for (size_t i = 0; i < histogram.bins.size(); ++i) {
    if (histogram.bins[i] == 0) continue;
    const float high =
        top * static_cast<float>(histogram.bins[i]) / static_cast<float>(histogram.most);
    const ImVec2 low = area.At(static_cast<float>(i) / bins, 0);
    const ImVec2 up = area.At(static_cast<float>(i + 1) / bins, high);
    const float left = std::round(low.x);
    const float right = std::max(left + 1, std::round(up.x) - 1);
    // A bin with one in it must be seen beside one with a million.
    list.AddRectFilled({left, std::min(up.y, low.y - look.Px(2))}, {right, low.y},
                       look.colors.accent);
  }
  if (!area.Hovered()) return;
  const auto bin = static_cast<size_t>(std::clamp(area.Pointer().x * bins, 0.0f, bins - 1));
  ShowTooltip({viewmodel::Grouped(histogram.bins[bin]) + " in this bar"});
}

}  // namespace stallscope::views
