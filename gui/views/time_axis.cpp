#include "gui/views/time_axis.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "gui/viewmodel/format.h"
#include "gui/views/look.h"
#include "gui/views/text.h"

namespace stallscope::views {
namespace {

// 1, 2 or 5 times a power of ten, at least `least`.
int64_t RoundStep(double least) {
  double power = 1;
  while (power * 10 <= least) power *= 10;
  for (const double times : {1.0, 2.0, 5.0, 10.0}) {
    if (power * times >= least) return static_cast<int64_t>(power * times);
  }
  return static_cast<int64_t>(power * 10);
}

}  // namespace

void PutTimeAxis(ImDrawList& list, ImVec2 from, float right, const session::Range& range,
                 const session::State& state) {
  const Look& look = TheLook();
  const ImFont& small = *look.fonts.small;
  const float width = right - from.x;
  const session::OpenRun* run = state.Active();
  if (width < look.Px(40) || range.ns() <= 0 || run == nullptr || run->index == nullptr) return;
  const int64_t origin = run->index->window.start_ns;
  const double ns_a_pixel = static_cast<double>(range.ns()) / width;
  const int64_t step = std::max<int64_t>(1, RoundStep(ns_a_pixel * look.Px(110)));
  int64_t at = origin + (range.start_ns - origin) / step * step;
  for (; at <= range.end_ns; at += step) {
    if (at < range.start_ns) continue;
    const float x = std::floor(
        from.x + static_cast<float>(static_cast<double>(at - range.start_ns) / ns_a_pixel));
    list.AddLine({x, from.y}, {x, from.y + look.Px(4)}, look.colors.faint);
    const std::string text = viewmodel::TimeAt(at, origin, step);
    if (x + WidthOf(small, text) > right) break;
    Put(list, small, {x, from.y + look.Px(5)}, look.colors.muted, text);
  }
}

float TimeAxisHeight() { return TheLook().fonts.small->FontSize + TheLook().Px(8); }

}  // namespace stallscope::views
