#include "gui/views/look.h"

#include <algorithm>
#include <cmath>

namespace stallscope::views {
namespace {

ImVec4 Floats(ImU32 color) { return ImGui::ColorConvertU32ToFloat4(color); }

void ApplyColors(const Colors& c, ImGuiStyle& style) {
  const auto set = [&](ImGuiCol which, ImU32 color) { style.Colors[which] = Floats(color); };
  set(ImGuiCol_Text, c.text);
  set(ImGuiCol_TextDisabled, c.faint);
  set(ImGuiCol_WindowBg, c.window);
  set(ImGuiCol_ChildBg, WithAlpha(c.window, 0));
  set(ImGuiCol_PopupBg, c.card);
  set(ImGuiCol_Border, c.border);
  set(ImGuiCol_BorderShadow, WithAlpha(c.border, 0));
  set(ImGuiCol_FrameBg, c.window);
  set(ImGuiCol_FrameBgHovered, c.raised);
  set(ImGuiCol_FrameBgActive, c.raised);
  set(ImGuiCol_TitleBg, c.rail);
  set(ImGuiCol_TitleBgActive, c.rail);
  set(ImGuiCol_TitleBgCollapsed, c.rail);
  set(ImGuiCol_MenuBarBg, c.rail);
  set(ImGuiCol_ScrollbarBg, WithAlpha(c.window, 0));
  set(ImGuiCol_ScrollbarGrab, c.border);
  set(ImGuiCol_ScrollbarGrabHovered, c.faint);
  set(ImGuiCol_ScrollbarGrabActive, c.muted);
  set(ImGuiCol_CheckMark, c.accent);
  set(ImGuiCol_SliderGrab, c.accent);
  set(ImGuiCol_SliderGrabActive, c.accent);
  set(ImGuiCol_Button, c.raised);
  set(ImGuiCol_ButtonHovered, Mixed(c.raised, c.accent, 0.25f));
  set(ImGuiCol_ButtonActive, Mixed(c.raised, c.accent, 0.45f));
  set(ImGuiCol_Header, Mixed(c.card, c.accent, 0.22f));
  set(ImGuiCol_HeaderHovered, Mixed(c.card, c.accent, 0.14f));
  set(ImGuiCol_HeaderActive, Mixed(c.card, c.accent, 0.3f));
  set(ImGuiCol_Separator, c.border);
  set(ImGuiCol_SeparatorHovered, c.accent);
  set(ImGuiCol_SeparatorActive, c.accent);
  set(ImGuiCol_Tab, c.rail);
  set(ImGuiCol_TabHovered, c.raised);
  set(ImGuiCol_TabActive, c.card);
  set(ImGuiCol_TableHeaderBg, c.card);
  set(ImGuiCol_TableBorderStrong, c.border);
  set(ImGuiCol_TableBorderLight, c.grid);
  set(ImGuiCol_TableRowBg, WithAlpha(c.card, 0));
  set(ImGuiCol_TableRowBgAlt, WithAlpha(c.grid, 0.35f));
  set(ImGuiCol_TextSelectedBg, WithAlpha(c.accent, 0.35f));
  set(ImGuiCol_NavHighlight, c.accent);
  set(ImGuiCol_ModalWindowDimBg, IM_COL32(0, 0, 0, 110));
  set(ImGuiCol_PlotHistogram, c.accent);
}

}  // namespace

Look& TheLook() { return *static_cast<Look*>(ImGui::GetIO().UserData); }

void ApplyStyle(const Look& look) {
  ImGuiStyle style;  // starts from the defaults: scaling twice would accumulate
  const auto px = [&](float pixels) { return std::round(look.Px(pixels)); };
  style.WindowPadding = {px(12), px(10)};
  style.FramePadding = {px(8), px(4)};
  style.CellPadding = {px(8), px(3)};
  style.ItemSpacing = {px(8), px(6)};
  style.ItemInnerSpacing = {px(6), px(4)};
  style.IndentSpacing = px(16);
  style.ScrollbarSize = px(12);
  style.GrabMinSize = px(14);
  style.WindowBorderSize = 1;
  style.ChildBorderSize = 1;
  style.PopupBorderSize = 1;
  style.FrameBorderSize = 1;
  style.WindowRounding = 0;
  style.ChildRounding = px(6);
  style.PopupRounding = px(6);
  style.FrameRounding = px(4);
  style.ScrollbarRounding = px(6);
  style.GrabRounding = px(4);
  style.TabRounding = px(4);
  style.DisplaySafeAreaPadding = {0, 0};
  style.AntiAliasedLinesUseTex = false;
  const ImGuiStyle& now = ImGui::GetStyle();
  style.AntiAliasedFill = now.AntiAliasedFill;
  style.AntiAliasedLines = now.AntiAliasedLines;
  ApplyColors(look.colors, style);
  ImGui::GetStyle() = style;
}

Context::Context() : previous_(ImGui::GetCurrentContext()), context_(ImGui::CreateContext()) {
  ImGui::SetCurrentContext(context_);
  ImGuiIO& io = ImGui::GetIO();
  // Views are saved in our own side file.
  io.IniFilename = nullptr;
  io.LogFilename = nullptr;
  io.UserData = &look_;
  io.ConfigWindowsMoveFromTitleBarOnly = true;
  io.BackendFlags |= ImGuiBackendFlags_RendererHasVtxOffset;
}

Context::~Context() {
  ImGui::DestroyContext(context_);
  ImGui::SetCurrentContext(previous_);
}

bool Context::Dress(session::Theme theme, double scale) {
  scale = std::clamp(scale, session::kSmallestScale, session::kLargestScale);
  const bool new_fonts = scale != scale_;
  if (new_fonts) {
    ImFontAtlas& atlas = *ImGui::GetIO().Fonts;
    atlas.Clear();
    look_.fonts = AddFonts(atlas, scale);
    scale_ = scale;
    ImGui::GetIO().FontDefault = look_.fonts.body;
  }
  look_.theme = theme;
  look_.colors = ColorsOf(theme);
  look_.scale = static_cast<float>(scale);
  ApplyStyle(look_);
  // The pixels contain the old colors.
  for (Strip* strip : {&look_.lanes, &look_.base_lanes, &look_.now_lanes}) strip->model = nullptr;
  return new_fonts;
}

void Context::DrawStill(bool vectors) {
  ImGui::GetIO().ConfigInputTextCursorBlink = false;
  ImGui::GetStyle().AntiAliasedFill = !vectors;
  ImGui::GetStyle().AntiAliasedLines = !vectors;
}

}  // namespace stallscope::views
