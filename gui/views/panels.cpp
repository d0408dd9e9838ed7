#include "gui/views/panels.h"

#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "gui/views/empty.h"
#include "gui/views/look.h"
#include "gui/views/text.h"

namespace stallscope::views {
namespace {

using session::Panel;

// Lanes of a small run use the room that there is, within reason.
float LanePitch(const Snapshot& snapshot, float room) {
  const Look& look = TheLook();
  if (!snapshot.timeline || snapshot.timeline->rows_height <= 0) return look.Pitch();
  const float lanes = room - look.Px(100);  // the times above, the legend below
  return std::clamp(std::floor(lanes / snapshot.timeline->rows_height), look.Pitch(),
                    std::round(look.Pitch() * 1.7f));
}

void TellSize(const Snapshot& snapshot, Intents& intents) {
  const Look& look = TheLook();
  const session::State& state = *snapshot.state;
  const Panel panel = state.view.panel;
  const ImVec2 room = ImGui::GetContentRegionAvail();
  session::PanelSize size;
  size.width = static_cast<int>(room.x);
  size.height = static_cast<int>(room.y);
  size.line = look.Pitch();
  if (panel == Panel::kPipeline) size.line = look.SmallPitch();
  if (panel == Panel::kTimeline) size.line = LanePitch(snapshot, room.y);
  // Of figures: what labels are mostly made of.
  size.character = WidthOf(*look.fonts.small, "0123456789") / 10;
  if (size != state.sizes[session::At(panel)])
    intents.Add(session::intent::SetPanelSize{panel, size});
}

}  // namespace

void DrawPanel(const Snapshot& snapshot, Intents& intents) {
  const session::State& state = *snapshot.state;
  const Panel panel = state.view.panel;
  TellSize(snapshot, intents);
  const session::OpenRun* run = state.Active();
  // A spec can be written, and a run recorded, without a trace.
  if (panel == Panel::kRecord) return DrawRecord(snapshot, intents);
  if (run == nullptr) return DrawWelcome(snapshot, intents);
  if (run->stage == session::OpenStage::kFailed || run->run == nullptr) {
    return DrawOpening(state, *run, intents);
  }
  switch (panel) {
    case Panel::kOverview:
      return DrawOverview(snapshot, intents);
    case Panel::kTimeline:
      return DrawTimeline(snapshot, intents);
    case Panel::kPipeline:
      return DrawPipeline(snapshot, intents);
    case Panel::kStalls:
      return DrawStalls(snapshot, intents);
    case Panel::kSteps:
      return DrawSteps(snapshot, intents);
    case Panel::kFindings:
      return DrawFindings(snapshot, intents);
    case Panel::kSweep:
      return DrawSweep(snapshot, intents);
    case Panel::kCompare:
      return DrawCompare(snapshot, intents);
    case Panel::kRecord:
      return;
    case Panel::kSpans:
      return DrawSpans(snapshot, intents);
    case Panel::kRun:
      return DrawRun(snapshot, intents);
  }
}

}  // namespace stallscope::views
