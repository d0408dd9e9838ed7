// A spec, checked as it is typed, and the recording made from it.
#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "analyzer/words/words.h"
#include "gui/views/look.h"
#include "gui/views/panels.h"
#include "gui/views/plots.h"
#include "gui/views/text.h"
#include "gui/views/widgets.h"

namespace stallscope::views {
namespace {

namespace intent = session::intent;
using viewmodel::KnobRow;
using viewmodel::RecordModel;

void DrawEditor(const RecordModel& model, const session::RecordState& record, float width,
                Intents& intents) {
  const Look& look = TheLook();
  const Card card("editor", {width, 0});
  Heading("Spec");
  ImGui::SameLine(ImGui::GetContentRegionAvail().x - look.Px(120));
  {
    const InFont small(look.fonts.small);
    if (ImGui::Button("Open")) intents.Add(intent::OpenSpec{""});
    ImGui::SameLine();
    if (ImGui::Button("Save")) intents.Add(intent::SaveSpec{""});
  }
  std::string text = record.spec_text;
  const float below = 2.4f * ImGui::GetTextLineHeightWithSpacing();
  {
    const InFont mono(look.fonts.mono);
    if (ImGui::InputTextMultiline("##spec", &text, {-1, ImGui::GetContentRegionAvail().y - below},
                                  ImGuiInputTextFlags_AllowTabInput) &&
        text != record.spec_text) {
      intents.Add(intent::EditSpec{text});
    }
  }
  if (model.problem.empty()) {
    Line(model.valid ? "The spec is valid." : "Write or open a spec.",
         model.valid ? look.colors.good : look.colors.muted);
    return;
  }
  const std::string place = model.problem_line > 0
                                ? "line " + std::to_string(model.problem_line) + ", column " +
                                      std::to_string(model.problem_column) + ": "
                                : "";
  Paragraph(place + model.problem, look.colors.bad);
}

void DrawKnob(const KnobRow& knob, Intents& intents) {
  const Look& look = TheLook();
  ImGui::PushID(knob.path.c_str());
  const float width = ImGui::GetContentRegionAvail().x;
  const float field = std::min(look.Px(150), width * 0.45f);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::AlignTextToFramePadding();
  PutCut(*ImGui::GetWindowDrawList(), knob.changed ? *look.fonts.bold : *look.fonts.body,
         {at.x, at.y + ImGui::GetStyle().FramePadding.y}, width - field - look.Px(8),
         look.colors.text, knob.path);
  ImGui::Dummy({width - field - look.Px(8), ImGui::GetFrameHeight()});
  Tip(knob.doc);
  ImGui::SameLine(0, look.Px(8));
  ImGui::SetNextItemWidth(field);
  if (knob.toggle) {
    bool on = knob.value == "true";
    if (ImGui::Checkbox("##on", &on))
      intents.Add(intent::SetKnob{knob.path, on ? "true" : "false"});
  } else if (!knob.words.empty()) {
    if (ImGui::BeginCombo("##word", knob.value.c_str())) {
      for (const std::string& word : knob.words) {
        if (ImGui::Selectable(word.c_str(), word == knob.value)) {
          intents.Add(intent::SetKnob{knob.path, word});
        }
      }
      ImGui::EndCombo();
    }
  } else {
    std::string value = knob.value;
    if (ImGui::InputText("##value", &value, ImGuiInputTextFlags_EnterReturnsTrue) &&
        value != knob.value) {
      intents.Add(intent::SetKnob{knob.path, value});
    }
  }
  ImGui::PopID();
}

void DrawKnobs(const RecordModel& model, Intents& intents) {
  Look& look = TheLook();
  ImGui::SetNextItemWidth(-1);
  ImGui::InputTextWithHint("##filter", "Filter knobs", &look.memory.knob_filter);
  ImGui::BeginChild("knob list", {0, 0});
  for (const KnobRow& knob : model.knobs) {
    if (knob.path.find(look.memory.knob_filter) != std::string::npos) DrawKnob(knob, intents);
  }
  ImGui::EndChild();
}

void DrawRates(const RecordModel& model, ImVec2 size) {
  const Look& look = TheLook();
  const PlotArea area =
      DrawAxes("rates", size, {}, {"0", words::Number(model.rate_max)}, "", "samples/s");
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const auto count = static_cast<float>(std::max<size_t>(2, model.rates.size()) - 1);
  for (size_t i = 1; i < model.rates.size(); ++i) {
    list.AddLine(area.At(static_cast<float>(i - 1) / count, model.rates[i - 1]),
                 area.At(static_cast<float>(i) / count, model.rates[i]), look.colors.accent,
                 std::max(1.5f, look.Px(2)));
  }
}

void DrawStartStop(const RecordModel& model, const session::RecordState& record, Intents& intents) {
  const Look& look = TheLook();
  if (model.running) {
    if (ButtonIf(!model.stopping, model.stopping ? "Stopping" : "Stop", look.Px(110))) {
      intents.Add(intent::StopRecording{});
    }
  } else if (ButtonIf(model.can_start, "Record", look.Px(110))) {
    intents.Add(intent::StartRecording{""});
  }
  ImGui::SameLine();
  ImGui::AlignTextToFramePadding();
  if (!model.error.empty()) {
    Line(model.error, look.colors.bad);
  } else if (!model.progress.empty()) {
    Line(model.progress, look.colors.text);
  } else {
    Line(model.output.empty() ? "" : "to " + model.output, look.colors.muted);
  }
  if (model.has_result && !model.running) {
    if (ImGui::Button("Show the run")) {
      intents.Add(intent::SwitchRun{record.recorded});
      intents.Add(intent::ShowPanel{session::Panel::kOverview});
    }
  }
}

void DrawDevice(const RecordModel& model, Intents& intents) {
  if (model.devices.empty()) return;
  ImGui::SetNextItemWidth(TheLook().Px(150));
  if (!ImGui::BeginCombo("device", model.device.c_str())) return;
  for (const std::string& device : model.devices) {
    if (ImGui::Selectable(device.c_str(), device == model.device)) {
      intents.Add(intent::SetKnob{"trainer.device", device});
    }
  }
  ImGui::EndCombo();
}

void DrawLive(const RecordModel& model, const session::RecordState& record, Intents& intents) {
  const Look& look = TheLook();
  if (!model.running) DrawDevice(model, intents);
  DrawStartStop(model, record, intents);
  if (model.done) {
    Gauge(*model.done, look.colors.accent, {ImGui::GetContentRegionAvail().x, look.Px(8)});
  }
  if (!model.throughput.empty()) {
    const InFont bold(look.fonts.bold);
    Line(model.throughput);
  }
  if (!model.stall.empty()) Line(model.stall, look.colors.muted);
  if (!model.rates.empty()) DrawRates(model, {ImGui::GetContentRegionAvail().x, look.Px(110)});
  for (const viewmodel::GaugeRow& queue : model.queues) {
    Gauge(queue.fill, look.Of(viewmodel::Paint::kQueueDepth),
          {ImGui::GetContentRegionAvail().x, look.Px(22)}, queue.name + "  " + queue.text);
  }
}

}  // namespace

void DrawRecord(const Snapshot& snapshot, Intents& intents) {
  if (!snapshot.record) return DrawNothing("Record", "Preparing the panel.");
  const RecordModel& model = *snapshot.record;
  const session::RecordState& record = snapshot.state->record;
  DrawEditor(model, record, std::floor(ImGui::GetContentRegionAvail().x * 0.55f), intents);
  ImGui::SameLine();
  ImGui::BeginChild("right", {0, 0});
  {
    const bool live = model.running || !model.rates.empty();
    const float high = live ? ImGui::GetContentRegionAvail().y * 0.5f
                            : CardHeight(3 * ImGui::GetFrameHeightWithSpacing(), true);
    const Card card("live", {0, high}, "Recording", live);
    DrawLive(model, record, intents);
  }
  {
    const Card card("knobs", {0, 0}, "Knobs");
    DrawKnobs(model, intents);
  }
  ImGui::EndChild();
}

}  // namespace stallscope::views
