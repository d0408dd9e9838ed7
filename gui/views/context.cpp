#include "gui/views/context.h"

#include <algorithm>

namespace stallscope::views {

Context::Context() : previous_(ImGui::GetCurrentContext()), context_(ImGui::CreateContext()) {
  ImGui::SetCurrentContext(context_);
  ImGuiIO& io = ImGui::GetIO();
  // What is remembered of a view lies in our own side file.
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
  // Colours lie in the pixels.
  for (Strip* strip : {&look_.lanes, &look_.base_lanes, &look_.now_lanes}) strip->model = nullptr;
  return new_fonts;
}

void Context::DrawStill(bool vectors) {
  ImGui::GetIO().ConfigInputTextCursorBlink = false;
  ImGui::GetStyle().AntiAliasedFill = !vectors;
  ImGui::GetStyle().AntiAliasedLines = !vectors;
}

}  // namespace stallscope::views
