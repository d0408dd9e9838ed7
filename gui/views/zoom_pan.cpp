#include "gui/views/zoom_pan.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "gui/viewmodel/timeline_hit.h"
#include "gui/views/look.h"
#include "gui/views/text.h"

namespace stallscope::views {
namespace {

namespace intent = session::intent;
using session::Intents;
using session::Range;
using session::State;
using viewmodel::TimelineHit;

constexpr double kZoomAStep = 1.25;  // of the wheel
constexpr double kPanAStep = 0.08;   // of what is seen
constexpr double kRowsAStep = 2;
// A click may move by less than this, in pixels at scale 1.
constexpr float kClickSlack = 4;

bool Contains(ImVec2 from, ImVec2 to, ImVec2 point) {
  return point.x >= from.x && point.x < to.x && point.y >= from.y && point.y < to.y;
}

double LastRow(const TimelinePlace& place) {
  return std::max(
      0.0, place.model.rows_height - static_cast<double>((place.to.y - place.from.y) / place.line));
}

void HandleWheel(const TimelinePlace& place, bool over_lanes, Intents& intents) {
  const ImGuiIO& io = ImGui::GetIO();
  const double ns_a_pixel =
      static_cast<double>(place.model.visible.ns()) / std::max(1, place.model.width);
  if (over_lanes && io.MouseWheelH != 0) intents.Add(intent::Pan{-kPanAStep * io.MouseWheelH});
  if (io.MouseWheel == 0) return;
  if (!over_lanes || io.KeyCtrl) {
    const double row = place.first_row - kRowsAStep * io.MouseWheel;
    intents.Add(intent::ScrollLanes{std::clamp(row, 0.0, LastRow(place))});
  } else if (io.KeyShift) {
    intents.Add(intent::Pan{-kPanAStep * io.MouseWheel});
  } else {
    const auto at = place.model.visible.start_ns +
                    static_cast<int64_t>((io.MousePos.x - place.from.x) * ns_a_pixel);
    intents.Add(intent::Zoom{std::pow(kZoomAStep, io.MouseWheel), at});
  }
}

TimelineHit HitAt(const TimelinePlace& place, const State& state, ImVec2 mouse) {
  return viewmodel::HitTest(place.model, state, mouse.x - place.from.x,
                            place.first_row + (mouse.y - place.from.y) / place.line);
}

void Click(const TimelinePlace& place, const State& state, Intents& intents) {
  const TimelineHit hit = HitAt(place, state, ImGui::GetIO().MousePos);
  session::Selection selected = state.view.selected;
  selected.interval.reset();
  selected.step_row.reset();
  if (hit.interval) {
    selected.interval = hit.interval;
  } else if (hit.step_row) {
    selected.step_row = hit.step_row;
  }
  if (hit.row < place.model.rows.size()) selected.stage = place.model.rows[hit.row].stage;
  intents.Add(intent::Select{selected, false});
}

// Selects the stall whose cap on the ruler was clicked.
void ClickRuler(const TimelinePlace& place, const State& state, Intents& intents) {
  const float x = ImGui::GetIO().MousePos.x - place.from.x;
  const float slack = TheLook().Px(2);
  for (const viewmodel::StallBand& band : place.model.stalls) {
    if (x < band.x0 - slack || x > band.x1 + slack) continue;
    session::Selection selected = state.view.selected;
    selected.interval.reset();
    selected.step_row = band.step_row;
    return intents.Add(intent::Select{selected, false});
  }
}

void Drag(const TimelinePlace& place, bool marks, Intents& intents) {
  const ImGuiIO& io = ImGui::GetIO();
  Memory& memory = TheLook().memory;
  const auto time_at = [&](float x) {
    return viewmodel::TimeAtX(place.model, std::clamp(x, place.from.x, place.to.x) - place.from.x);
  };
  if (ImGui::IsItemActivated()) {
    memory.drag_from_ns = static_cast<double>(time_at(io.MousePos.x));
    memory.drag_marks = marks;
    memory.drag_moved = false;
  }
  if (!ImGui::IsMouseDragging(0, TheLook().Px(kClickSlack))) return;
  if (memory.drag_marks) {
    const auto a = static_cast<int64_t>(memory.drag_from_ns);
    const int64_t b = time_at(io.MousePos.x);
    intents.Add(intent::Measure{Range{std::min(a, b), std::max(a, b)}});
  } else if (io.MouseDelta.x != 0 || io.MouseDelta.y != 0 || !memory.drag_moved) {
    const double ns_a_pixel =
        static_cast<double>(place.model.visible.ns()) / std::max(1, place.model.width);
    const auto by = static_cast<int64_t>(std::llround(io.MouseDelta.x * ns_a_pixel));
    if (by != 0) {
      intents.Add(intent::ShowRange{
          {place.model.visible.start_ns - by, place.model.visible.end_ns - by}, memory.drag_moved});
    }
    if (io.MouseDelta.y != 0) {
      const double row = place.first_row - io.MouseDelta.y / place.line;
      intents.Add(intent::ScrollLanes{std::clamp(row, 0.0, LastRow(place))});
    }
  }
  memory.drag_moved = true;
}

void HandleNames(const TimelinePlace& place, const State& state, Intents& intents) {
  for (const viewmodel::LaneRow& row : place.model.rows) {
    const ImVec2 from(place.names, std::max(place.from.y, place.Top(row)));
    const ImVec2 to(place.from.x, std::min(place.to.y, place.Bottom(row)));
    if (!Contains(from, to, ImGui::GetIO().MousePos)) continue;
    if (!row.name.empty()) ShowTooltip({row.name, row.detail});
    if (ImGui::IsMouseClicked(0)) {
      if (row.group) intents.Add(intent::ToggleLane{row.key});
      session::Selection selected = state.view.selected;
      selected.stage = row.stage;
      intents.Add(intent::Select{selected, false});
    }
  }
}

}  // namespace

void HandleTimelineMouse(const TimelinePlace& place, const State& state, Intents& intents) {
  ImGuiIO& io = ImGui::GetIO();
  const ImVec2 ruler(place.from.x, place.ruler);
  const ImVec2 size(std::max(1.0f, place.to.x - ruler.x), std::max(1.0f, place.to.y - ruler.y));
  ImGui::SetCursorScreenPos(ruler);
  ImGui::InvisibleButton("lanes", size);
  const bool hovered = ImGui::IsItemHovered();
  const bool on_ruler = io.MousePos.y < place.from.y;
  if (ImGui::IsItemActive()) Drag(place, on_ruler || io.KeyShift, intents);
  if (ImGui::IsItemDeactivated() && !TheLook().memory.drag_moved) {
    if (on_ruler) {
      ClickRuler(place, state, intents);
    } else {
      Click(place, state, intents);
    }
  }
  if (hovered) HandleWheel(place, true, intents);
  if (hovered && ImGui::IsMouseDoubleClicked(0)) intents.Add(intent::FitSelection{});
  if (hovered && !ImGui::IsItemActive() && !on_ruler) {
    const TimelineHit hit = HitAt(place, state, io.MousePos);
    ShowTooltip(viewmodel::TooltipOf(place.model, state, hit));
  }
  const bool over_names =
      ImGui::IsWindowHovered() &&
      Contains({place.names, place.from.y}, {place.from.x, place.to.y}, io.MousePos);
  if (over_names) {
    HandleWheel(place, false, intents);
    HandleNames(place, state, intents);
  }
}

void HandleLanesMouse(const Range& visible, float left, float width, Intents& intents) {
  const ImGuiIO& io = ImGui::GetIO();
  width = std::max(1.0f, width);
  if (ImGui::IsItemHovered() && io.MouseWheel != 0) {
    const float part = std::clamp((io.MousePos.x - left) / width, 0.0f, 1.0f);
    intents.Add(intent::Zoom{
        std::pow(kZoomAStep, io.MouseWheel),
        visible.start_ns + static_cast<int64_t>(part * static_cast<double>(visible.ns()))});
  }
  if (ImGui::IsItemActive() && io.MouseDelta.x != 0) {
    intents.Add(intent::Pan{-static_cast<double>(io.MouseDelta.x) / width});
  }
}

}  // namespace stallscope::views
