// The stage graph: what flows, what is busy, where it waits.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "gui/views/look.h"
#include "gui/views/panels.h"
#include "gui/views/table_view.h"
#include "gui/views/text.h"
#include "gui/views/widgets.h"

namespace stallscope::views {
namespace {

namespace intent = session::intent;
using viewmodel::Pipe;
using viewmodel::PipelineModel;
using viewmodel::StageBox;

struct Canvas {
  ImDrawList& list;
  ImVec2 origin;
  float line = 0;  // pixels of the model's unit

  ImVec2 At(float x, float y) const {
    return {std::round(origin.x + x * line), std::round(origin.y + y * line)};
  }
};

void DrawGauge(const Canvas& canvas, const Pipe& pipe, ImVec2 middle) {
  const Look& look = TheLook();
  const Pipe::Gauge& gauge = *pipe.queue;
  // A tank: as full as the queue is on average.
  const float wide = look.Px(16);
  const float high = look.Px(30);
  const ImVec2 from(std::round(middle.x - wide / 2), std::round(middle.y - high / 2));
  const ImVec2 to(from.x + wide, from.y + high);
  canvas.list.AddRectFilled(from, to, look.colors.window, look.Px(2));
  const auto fill = static_cast<float>(std::clamp(gauge.mean.value_or(0), 0.0, 1.0));
  canvas.list.AddRectFilled({from.x, to.y - std::round(high * fill)}, to,
                            look.Of(viewmodel::Paint::kQueueDepth), look.Px(2));
  canvas.list.AddRect(from, to, look.colors.muted, look.Px(2), 0, std::max(1.0f, look.Px(1)));
}

// The way of a pipe. Where the chain goes on in the next row it runs around the boxes between.
std::vector<ImVec2> WayOf(const Canvas& canvas, const Pipe& pipe) {
  const ImVec2 from = canvas.At(pipe.x0, pipe.y0);
  const ImVec2 to = canvas.At(pipe.x1, pipe.y1);
  if (std::abs(from.y - to.y) < 1) return {from, to};
  const float out = TheLook().Px(16);
  if (to.x > from.x) {
    const float middle = std::round((from.x + to.x) / 2);
    return {from, {middle, from.y}, {middle, to.y}, to};
  }
  const float between = std::round((from.y + to.y) / 2);
  return {from,
          {from.x + out, from.y},
          {from.x + out, between},
          {to.x - out, between},
          {to.x - out, to.y},
          to};
}

void DrawPipe(const Canvas& canvas, const Pipe& pipe) {
  const Look& look = TheLook();
  const std::vector<ImVec2> way = WayOf(canvas, pipe);
  const ImVec2 to = way.back();
  const float thick = std::max(look.Px(2), pipe.width * canvas.line);
  canvas.list.AddPolyline(way.data(), static_cast<int>(way.size()), look.colors.border, 0, thick);
  // Which way it flows.
  const float tip = std::max(look.Px(6), thick * 0.8f);
  canvas.list.AddTriangleFilled({to.x - tip, to.y - tip}, {to.x, to.y}, {to.x - tip, to.y + tip},
                                look.colors.faint);
  // In the middle of the middle piece stands what it carries.
  const size_t half_way = (way.size() - 1) / 2;
  const ImVec2 a = way[half_way];
  const ImVec2 b = way[half_way + 1];
  const ImVec2 middle((a.x + b.x) / 2, (a.y + b.y) / 2);
  if (pipe.queue) DrawGauge(canvas, pipe, middle);
  const ImFont& small = *look.fonts.small;
  const float room = std::max(look.Px(90), std::abs(b.x - a.x) - look.Px(6));
  const auto put = [&](float y, const std::string& text) {
    PutCentered(canvas.list, small, {middle.x, y}, room, look.colors.muted, text);
  };
  const float half = std::max(pipe.queue ? look.Px(17) : 0, thick / 2 + look.Px(2));
  put(middle.y - half - small.FontSize, pipe.text);
  if (pipe.queue) put(middle.y + half, pipe.queue->text);
  const ImVec2 reach(std::max(look.Px(20), std::abs(b.x - a.x) / 2), look.Px(30));
  if (Hovers({middle.x - reach.x, middle.y - reach.y}, {middle.x + reach.x, middle.y + reach.y})) {
    ShowTooltip(pipe.tooltip);
  }
}

void DrawBox(const Canvas& canvas, const StageBox& box, const session::State& state,
             Intents& intents) {
  const Look& look = TheLook();
  const ImVec2 from = canvas.At(box.x, box.y);
  const ImVec2 to = canvas.At(box.x + box.width, box.y + box.height);
  const float round = look.Px(5);
  ImDrawList& list = canvas.list;
  list.AddRectFilled(from, to, look.colors.raised, round);
  // The fill: how much of its workers' time is work.
  const auto busy = static_cast<float>(std::clamp(box.utilization.value_or(0), 0.0, 1.0));
  const float level = std::round((to.x - from.x) * busy);
  const ImU32 fill = Mixed(look.colors.raised, look.Of(box.paint), 0.45f);
  if (level > 1) {
    list.AddRectFilled(from, {from.x + level, to.y}, fill, round,
                       level >= to.x - from.x - round ? ImDrawFlags_RoundCornersAll
                                                      : ImDrawFlags_RoundCornersLeft);
  }
  const ImU32 frame = box.bottleneck ? look.colors.bad
                      : box.selected ? look.colors.accent
                                     : look.colors.border;
  list.AddRect(from, to, frame, round, 0, look.Px(box.bottleneck || box.selected ? 3 : 1));
  const float left = from.x + look.Px(10);
  const float room = to.x - from.x - look.Px(20);
  float y = from.y + look.Px(6);
  const auto put = [&](const ImFont& font, ImU32 color, const std::string& text) {
    if (y + font.FontSize > to.y) return;
    PutCut(list, font, {left, y}, room, color, text);
    y += font.FontSize + look.Px(2);
  };
  put(*look.fonts.bold, look.colors.text, box.name);
  if (!box.kind.empty() && box.kind != box.name) {
    put(*look.fonts.small, look.colors.text, box.kind);
  }
  for (const std::string& line : box.lines) put(*look.fonts.small, look.colors.text, line);
  if (!box.marked.empty()) {
    // On a ground of its own above the box: nobody may miss it.
    const ImFont& small = *look.fonts.small;
    const std::string shown = Cut(small, box.marked, std::max(room, look.Px(150)));
    const float wide = WidthOf(small, shown) + look.Px(12);
    const float top = from.y - small.FontSize - look.Px(6);
    list.AddRectFilled({from.x, top}, {from.x + wide, from.y}, look.colors.bad, look.Px(4),
                       ImDrawFlags_RoundCornersTop);
    Put(list, small, {from.x + look.Px(6), top + look.Px(3)}, TextOn(look.colors.bad), shown);
  }
  ImGui::SetCursorScreenPos(from);
  ImGui::PushID(&box);
  if (ImGui::InvisibleButton("box",
                             {std::max(1.0f, to.x - from.x), std::max(1.0f, to.y - from.y)})) {
    session::Selection selected = state.view.selected;
    selected.stage = box.stage;
    intents.Add(intent::Select{selected, false});
  }
  if (ImGui::IsItemHovered()) {
    ShowTooltip(box.tooltip);
    if (ImGui::IsMouseDoubleClicked(0)) {
      intents.Add(intent::ShowPanel{session::Panel::kTimeline});
    }
  }
  ImGui::PopID();
}

void DrawGraph(const PipelineModel& model, const session::State& state, Intents& intents) {
  const Look& look = TheLook();
  const float line = state.sizes[session::At(session::Panel::kPipeline)].line;
  const float wanted = model.height * line + look.Px(30);
  // The table scrolls where the graph needs the room: a box that is cut off cannot be read.
  const float table = std::min(TableHeight(model.stages) + look.Px(50), look.Px(170));
  const float room = ImGui::GetContentRegionAvail().y - table - ImGui::GetStyle().ItemSpacing.y;
  const float height = std::clamp(wanted + 2 * ImGui::GetStyle().WindowPadding.y, look.Px(120),
                                  std::max(look.Px(120), room));
  const Card card("graph", {0, height}, {}, true);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float slack = std::max(0.0f, (ImGui::GetContentRegionAvail().x - model.width * line) / 2);
  const Canvas canvas{*ImGui::GetWindowDrawList(), {at.x + slack, at.y + look.Px(20)}, line};
  for (const Pipe& pipe : model.pipes) DrawPipe(canvas, pipe);
  for (const StageBox& box : model.boxes) DrawBox(canvas, box, state, intents);
  ImGui::SetCursorScreenPos(at);
  ImGui::Dummy({model.width * line, wanted});
}

}  // namespace

void DrawPipeline(const Snapshot& snapshot, Intents& intents) {
  if (!snapshot.pipeline)
    return DrawNothing("Not analyzed yet", "Results appear once the run has been analyzed.");
  const PipelineModel& model = *snapshot.pipeline;
  if (!model.nothing.empty()) return DrawNothing("No pipeline", model.nothing);
  DrawGraph(model, *snapshot.state, intents);
  const Card card("stages", {0, 0}, {}, !model.ops.rows.empty());
  DrawTitledTable("Stages", model.stages, model.ops.rows.empty(), intents);
  if (!model.ops.rows.empty()) DrawTitledTable("Ops", model.ops, false, intents);
}

}  // namespace stallscope::views
