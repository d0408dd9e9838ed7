// What is known about the run besides its times.
#include <algorithm>
#include <cmath>
#include <string>

#include "gui/views/look.h"
#include "gui/views/panels.h"
#include "gui/views/table_view.h"
#include "gui/views/text.h"
#include "gui/views/widgets.h"

namespace stallscope::views {
namespace {

using viewmodel::FactGroup;
using viewmodel::RunFacts;

void DrawFacts(const FactGroup& group) {
  const Look& look = TheLook();
  Heading(group.title);
  const float names =
      std::min(ImGui::GetContentRegionAvail().x * 0.45f,
               WidestOf(*look.fonts.body, group.facts, &viewmodel::Figure::name) + look.Px(16));
  for (const viewmodel::Figure& fact : group.facts) {
    const float x = ImGui::GetCursorPosX();
    Line(fact.name, look.colors.muted, names - look.Px(8));
    ImGui::SameLine();
    ImGui::SetCursorPosX(x + names);
    const std::string shown =
        CutName(*look.fonts.body, fact.text, ImGui::GetContentRegionAvail().x);
    Line(shown, look.colors.text);
    Tip(shown == fact.text ? fact.tooltip : fact.text);
  }
  ImGui::Dummy({0, look.Px(6)});
}

void DrawTableIfAny(const char* title, const viewmodel::Table& table, Intents& intents) {
  if (table.rows.empty()) return;
  DrawTitledTable(title, table, false, intents);
  ImGui::Dummy({0, TheLook().Px(8)});
}

void DrawSpec(const RunFacts& facts, Intents& intents) {
  const Look& look = TheLook();
  if (facts.spec.empty()) return;
  Heading("Spec");
  ImGui::SameLine(ImGui::GetContentRegionAvail().x - look.Px(50));
  {
    const InFont small(look.fonts.small);
    if (ImGui::Button("Copy##spec")) intents.Add(session::intent::CopyText{facts.spec});
  }
  const InFont mono(look.fonts.mono);
  Paragraph(facts.spec, look.colors.text);
}

}  // namespace

void DrawRun(const Snapshot& snapshot, Intents& intents) {
  if (!snapshot.run) return DrawNothing("Not loaded yet", "The run is still being read.");
  const RunFacts& facts = *snapshot.run;
  const Look& look = TheLook();
  DrawTrustLine(facts.trust);
  DrawAssumed(facts.assumed);
  for (const std::string& warning : facts.trust.warnings) Paragraph(warning, look.colors.warning);
  const float left = std::floor(ImGui::GetContentRegionAvail().x * 0.38f);
  {
    const Card card("facts", {left, 0}, {}, true);
    for (const FactGroup& group : facts.groups) DrawFacts(group);
    if (!facts.command_line.empty()) {
      Heading("Command line");
      const InFont mono(look.fonts.mono);
      Paragraph(facts.command_line, look.colors.text);
    }
    if (!facts.limits.empty()) {
      Heading("What this trace cannot show");
      for (const std::string& limit : facts.limits) Paragraph(limit, look.colors.muted);
    }
  }
  ImGui::SameLine();
  const Card card("tables", {0, 0}, {}, true);
  DrawTableIfAny("Processes", facts.processes, intents);
  DrawTableIfAny("Kernels", facts.kernels, intents);
  DrawTableIfAny("Copies", facts.copies, intents);
  DrawTableIfAny("Tracks", facts.tracks, intents);
  DrawSpec(facts, intents);
}

}  // namespace stallscope::views
