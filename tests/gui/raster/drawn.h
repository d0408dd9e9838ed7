// A frame of Dear ImGui without a backend: what a test draws comes out as draw data.
#pragma once

#include <imgui.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "gui/raster/image.h"

namespace stallscope::test {

class Drawn {
 public:
  // A screen of this size with square corners and no smoothed edges; `draw` draws on top of all.
  Drawn(float width, float height, const std::function<void(ImDrawList&)>& draw);
  ~Drawn();
  Drawn(const Drawn&) = delete;
  Drawn& operator=(const Drawn&) = delete;

  const ImDrawData& data() const { return *ImGui::GetDrawData(); }
  const ImFont& font() const { return *ImGui::GetIO().Fonts->Fonts[0]; }
  const raster::Texture& atlas() const { return atlas_; }
  // Drawn over black.
  raster::Image Picture() const;

 private:
  ImGuiContext* context_;
  raster::Texture atlas_;
};

constexpr uint32_t kBlack = IM_COL32(0, 0, 0, 255);
constexpr uint32_t kWhite = IM_COL32(255, 255, 255, 255);

}  // namespace stallscope::test
