// What the rules found, the evidence, what to change, and what it gains.
#include <algorithm>
#include <string>

#include "analyzer/base/lines.h"
#include "gui/views/look.h"
#include "gui/views/panels.h"
#include "gui/views/text.h"
#include "gui/views/widgets.h"

namespace stallscope::views {
namespace {

namespace intent = session::intent;
using viewmodel::FindingCard;
using viewmodel::FindingsModel;

ImU32 SeverityColor(findings::Severity severity) {
  const Look& look = TheLook();
  switch (severity) {
    case findings::Severity::kHigh:
      return look.colors.bad;
    case findings::Severity::kMedium:
      return look.colors.warning;
    case findings::Severity::kLow:
      return look.colors.accent;
    case findings::Severity::kInfo:
      return look.colors.faint;
  }
  return look.colors.faint;
}

// A word on its own color.
void DrawBadge(std::string_view word, ImU32 color) {
  const Look& look = TheLook();
  const ImFont& small = *look.fonts.small;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 size(WidthOf(small, word) + look.Px(12), look.fonts.body->FontSize + look.Px(2));
  ImGui::GetWindowDrawList()->AddRectFilled(at, {at.x + size.x, at.y + size.y}, color, look.Px(4));
  Put(*ImGui::GetWindowDrawList(), small, {at.x + look.Px(6), at.y + (size.y - small.FontSize) / 2},
      TextOn(color), word);
  ImGui::Dummy(size);
}

void DrawEvidence(const FindingCard& card, Intents& intents) {
  const Look& look = TheLook();
  if (card.evidence.empty()) return;
  Line("Evidence", look.colors.muted);
  for (const viewmodel::EvidenceLink& link : card.evidence) {
    ImGui::PushID(static_cast<int>(link.index));
    ImGui::Bullet();
    ImGui::SameLine();
    if (!link.jumps) {
      Paragraph(link.text, look.colors.text);
    } else {
      const std::string shown = Cut(*ImGui::GetFont(), link.text, ImGui::GetContentRegionAvail().x);
      const ImVec2 at = ImGui::GetCursorScreenPos();
      const float wide = WidthOf(*ImGui::GetFont(), shown);
      if (ImGui::InvisibleButton("go", {std::max(1.0f, wide), ImGui::GetTextLineHeight()})) {
        intents.Add(intent::ShowEvidence{card.finding, link.index});
      }
      const bool hovered = ImGui::IsItemHovered();
      ImDrawList& list = *ImGui::GetWindowDrawList();
      Put(list, *ImGui::GetFont(), at, look.colors.accent, shown);
      const float low = at.y + ImGui::GetTextLineHeight() - 1;
      list.AddLine({at.x, low}, {at.x + wide, low},
                   WithAlpha(look.colors.accent, hovered ? 1.0f : 0.35f));
      if (hovered) ShowTooltip({link.text, "Click to show it"});
    }
    ImGui::PopID();
  }
}

void DrawActions(const FindingCard& card, bool busy, Intents& intents) {
  const Look& look = TheLook();
  if (ButtonIf(card.can_verify && !busy, card.verifying ? "Verifying" : "Verify")) {
    intents.Add(intent::Verify{card.finding});
  }
  Tip(card.can_verify ? "Run with this change and measure the gain" : card.cannot_verify);
  if (!card.patch.empty()) {
    ImGui::SameLine();
    if (ImGui::Button("Save patched spec")) {
      intents.Add(intent::SavePatchedSpec{card.finding, ""});
    }
    Tip("Save the recorded spec with this change applied");
  }
  if (!card.diff.empty()) {
    ImGui::SameLine();
    if (ImGui::Button("Copy diff")) intents.Add(intent::CopyText{card.diff});
    Tip("Copy the diff of your source, for patch -p1");
  }
  for (const auto& [framework, code] : card.code) {
    if (code.empty()) continue;
    ImGui::SameLine();
    const std::string label = "Copy " + framework;
    const float wide = WidthOf(*look.fonts.body, label) + 2 * ImGui::GetStyle().FramePadding.x;
    if (ImGui::GetContentRegionAvail().x < wide) ImGui::NewLine();
    if (ImGui::Button(label.c_str())) intents.Add(intent::CopyText{code});
    if (ImGui::IsItemHovered()) ShowTooltip({"Copy the code for " + framework, code});
  }
}

void DrawCode(const FindingCard& card, float width) {
  Look& look = TheLook();
  if (card.code.empty() || !card.selected) return;
  const auto chosen = std::find_if(card.code.begin(), card.code.end(), [&](const auto& entry) {
    return entry.first == look.memory.code_framework;
  });
  const auto& shown = chosen == card.code.end() ? card.code.front() : *chosen;
  for (const auto& [framework, code] : card.code) {
    if (&framework != &card.code.front().first) ImGui::SameLine();
    if (ImGui::RadioButton(framework.c_str(), framework == shown.first)) {
      look.memory.code_framework = framework;
    }
  }
  const InFont mono(look.fonts.mono);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float pad = look.Px(8);
  const float high = ParagraphHeight(shown.second, width - 2 * pad) + 2 * pad;
  ImGui::GetWindowDrawList()->AddRectFilled(at, {at.x + width, at.y + high}, look.colors.window,
                                            look.Px(4));
  ImGui::SetCursorScreenPos({at.x + pad, at.y + pad});
  ImGui::PushTextWrapPos(ImGui::GetCursorPosX() + width - 2 * pad);
  Wrapped(shown.second);
  ImGui::PopTextWrapPos();
  ImGui::SetCursorScreenPos(at);
  ImGui::Dummy({width, high});
}

// The source around the line to change; each line's sign sets its color.
void DrawSource(const FindingCard& card, float width) {
  const Look& look = TheLook();
  const bool is_diff = !card.diff.empty();
  const std::string& source = is_diff ? card.diff : card.source;
  if (source.empty() || !card.selected) return;
  const InFont mono(look.fonts.mono);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float pad = look.Px(8);
  const float line = ImGui::GetTextLineHeight();
  const auto count = std::count(source.begin(), source.end(), '\n');
  const float high = static_cast<float>(count) * line + 2 * pad;
  ImDrawList& list = *ImGui::GetWindowDrawList();
  list.AddRectFilled(at, {at.x + width, at.y + high}, look.colors.window, look.Px(4));
  float y = at.y + pad;
  for (const std::string_view shown : SplitLines(source)) {
    const std::string text(shown);
    const bool head =
        is_diff && (text.starts_with("---") || text.starts_with("+++") || text.starts_with("@@"));
    const ImU32 color = head                                 ? look.colors.muted
                        : is_diff && text.starts_with('+')   ? look.colors.good
                        : is_diff && text.starts_with('-')   ? look.colors.bad
                        : !is_diff && !text.starts_with('>') ? look.colors.muted
                                                             : look.colors.text;
    Put(list, *ImGui::GetFont(), {at.x + pad, y}, color,
        Cut(*ImGui::GetFont(), text, width - 2 * pad));
    y += line;
  }
  ImGui::Dummy({width, high});
}

// Its frame is drawn after its content: how text wraps is known only then.
void DrawFinding(const FindingCard& card, const session::State& state, bool busy,
                 Intents& intents) {
  const Look& look = TheLook();
  ImGui::PushID(static_cast<int>(card.finding));
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  const float pad = look.Px(14);
  list.ChannelsSplit(2);
  list.ChannelsSetCurrent(1);
  ImGui::SetCursorScreenPos({at.x + pad, at.y + look.Px(10)});
  ImGui::BeginGroup();
  ImGui::PushTextWrapPos(ImGui::GetCursorPosX() + width - 2 * pad);
  ImGui::PushItemWidth(width - 2 * pad);
  DrawBadge(findings::WordFor(card.severity), SeverityColor(card.severity));
  ImGui::SameLine();
  {
    const InFont bold(look.fonts.bold);
    const float right = WidthOf(*look.fonts.body, card.share) + look.Px(16);
    Line(card.title, look.colors.text, at.x + width - pad - right - ImGui::GetCursorScreenPos().x);
  }
  PutRight(list, *look.fonts.body, {at.x + width - pad, at.y + look.Px(10)}, look.colors.muted,
           card.share);
  if (!card.where.empty()) Line("at " + card.where, look.colors.muted);
  const InColor text(look.colors.text);
  Wrapped(card.text);
  if (!card.advice.empty()) {
    const InFont bold(look.fonts.bold);
    Wrapped(card.advice);
  }
  if (!card.advice.empty()) {
    DrawGain(card.gain);
    if (!card.memory.empty()) Line(card.memory, TheLook().colors.muted);
  }
  if (card.selected) DrawEvidence(card, intents);
  if (!card.advice.empty()) DrawActions(card, busy, intents);
  for (const std::string& by_hand : card.by_hand) Wrapped(by_hand);
  DrawSource(card, width - 2 * pad);
  DrawCode(card, width - 2 * pad);
  ImGui::PopItemWidth();
  ImGui::PopTextWrapPos();
  ImGui::EndGroup();
  const float bottom = ImGui::GetItemRectMax().y + look.Px(10);
  list.ChannelsSetCurrent(0);
  list.AddRectFilled(at, {at.x + width, bottom}, look.colors.card, look.Px(6));
  list.AddRectFilled(at, {at.x + look.Px(5), bottom}, SeverityColor(card.severity), look.Px(6),
                     ImDrawFlags_RoundCornersLeft);
  list.AddRect(at, {at.x + width, bottom}, card.selected ? look.colors.accent : look.colors.border,
               look.Px(6), 0, look.Px(card.selected ? 2 : 1));
  list.ChannelsMerge();
  if (Hovers(at, {at.x + width, bottom}) && ImGui::IsMouseClicked(0) &&
      !ImGui::IsAnyItemHovered()) {
    session::Selection selected = state.view.selected;
    selected.finding = card.selected ? std::nullopt : std::optional<size_t>(card.finding);
    intents.Add(intent::Select{selected, false});
  }
  ImGui::SetCursorScreenPos({at.x, bottom + ImGui::GetStyle().ItemSpacing.y});
  ImGui::Dummy({width, 0});
  ImGui::PopID();
}

void DrawVerifyAll(const FindingsModel& model, Intents& intents) {
  const Look& look = TheLook();
  if (model.verifying) {
    Line("verifying: " + model.verify_text, look.colors.accent);
    return;
  }
  const bool any = std::any_of(model.cards.begin(), model.cards.end(),
                               [](const FindingCard& card) { return card.can_verify; });
  if (any) {
    if (ImGui::Button("Verify all")) intents.Add(intent::Verify{});
    Tip("Measure each recommendation alone, then the best combination");
    ImGui::SameLine();
    ImGui::AlignTextToFramePadding();
  }
  if (!model.verify_error.empty()) {
    Line(model.verify_error, look.colors.bad);
  } else {
    Line("Click a finding for its evidence and code.", look.colors.muted);
  }
}

}  // namespace

void DrawFindings(const Snapshot& snapshot, Intents& intents) {
  if (!snapshot.findings)
    return DrawNothing("Not analyzed yet", "Results appear once the run has been analyzed.");
  const FindingsModel& model = *snapshot.findings;
  if (!model.nothing.empty()) return DrawNothing("No findings", model.nothing);
  DrawVerifyAll(model, intents);
  DrawAssumed(model.assumed);
  ImGui::BeginChild("cards", {0, 0});
  for (const FindingCard& card : model.cards) {
    DrawFinding(card, *snapshot.state, model.verifying, intents);
  }
  ImGui::EndChild();
}

}  // namespace stallscope::views
