// The fonts of the window, rasterized by FreeType at their exact size for a scale. One thread.
#pragma once

#include <imgui.h>

#include <string>
#include <vector>

namespace stallscope::views {

// Height of body text at scale 1, in pixels. Every other size derives from it.
constexpr float kBodySize = 16;

struct Fonts {
  ImFont* body = nullptr;
  ImFont* small = nullptr;
  ImFont* bold = nullptr;
  ImFont* title = nullptr;  // the verdict
  ImFont* mono = nullptr;
};

// Adds the fonts to an empty atlas; the caller builds the texture. The same scale gives the same
// texture on every machine.
Fonts AddFonts(ImFontAtlas& atlas, double scale);

// How another renderer, such as a browser, names the font.
struct FontFace {
  const ImFont* font = nullptr;
  std::string family;
  int weight = 400;
  float em_per_height = 1;
};
std::vector<FontFace> FacesOf(const Fonts& fonts);

}  // namespace stallscope::views
