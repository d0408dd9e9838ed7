#include "tests/gui/raster/drawn.h"

#include "gui/raster/rasterize.h"

namespace stallscope::test {

Drawn::Drawn(float width, float height, const std::function<void(ImDrawList&)>& draw)
    : context_(ImGui::CreateContext()) {
  ImGuiIO& io = ImGui::GetIO();
  io.IniFilename = nullptr;
  io.DisplaySize = {width, height};
  io.BackendFlags |= ImGuiBackendFlags_RendererHasVtxOffset;
  io.Fonts->AddFontDefault();
  unsigned char* pixels = nullptr;
  io.Fonts->GetTexDataAsRGBA32(&pixels, &atlas_.width, &atlas_.height);
  atlas_.pixels = reinterpret_cast<const uint32_t*>(pixels);
  io.Fonts->SetTexID(&atlas_);
  ImGuiStyle& style = ImGui::GetStyle();
  style.AntiAliasedFill = false;
  style.AntiAliasedLines = false;
  ImGui::NewFrame();
  draw(*ImGui::GetForegroundDrawList());
  ImGui::Render();
}

Drawn::~Drawn() { ImGui::DestroyContext(context_); }

raster::Image Drawn::Picture() const {
  const ImVec2 size = data().DisplaySize;
  raster::Image image(static_cast<int>(size.x), static_cast<int>(size.y), kBlack);
  raster::Rasterize(data(), image);
  return image;
}

}  // namespace stallscope::test
