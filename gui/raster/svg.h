// Draw data as an SVG page: polygons, rectangles, and text that can be searched and edited. Any
// thread.
//
// Draw data consists of triangles. Triangles with a common first corner, as Dear ImGui emits every
// convex shape, become one polygon again, because browsers show the seams between triangles as
// hairlines. For the same reason, make the data without anti-aliased edges
// (ImGuiStyle::AntiAliasedLines, AntiAliasedFill): the viewer smooths them itself.
#pragma once

#include <imgui.h>

#include <cstdint>
#include <string>
#include <vector>

namespace stallscope::raster {

// How the page names a font.
struct SvgFont {
  const ImFont* font = nullptr;
  std::string family;       // "Roboto, sans-serif"
  int weight = 400;         // 400 regular, 700 bold
  float em_per_height = 1;  // of ImFont::FontSize, which is ascent plus descent
};

// Every ImTextureID in `data` is a `const Texture*`; that of the fonts' atlas is
// `fonts.front().font`'s. Omits text in unlisted fonts.
std::string Svg(const ImDrawData& data, const std::vector<SvgFont>& fonts, uint32_t background);

}  // namespace stallscope::raster
