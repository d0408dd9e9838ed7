// Draws Dear ImGui's draw data into an image, as its OpenGL backend draws it into a window: no
// display, no driver, the same pixels on every machine.
//
// Triangles follow OpenGL's fill rule: a pixel whose center is inside belongs to the triangle, one
// on a shared edge to exactly one of the two. Ignores callbacks in the data: they call a graphics
// library. Any thread.
#pragma once

#include <imgui.h>

#include "gui/raster/image.h"

namespace stallscope::raster {

// The writable pixels: from the minimum up to, but not including, the maximum.
struct Clip {
  int min_x = 0;
  int min_y = 0;
  int max_x = 0;
  int max_y = 0;
};

// Vertices are in pixels of the image, in either winding. The clip is inside the image.
void FillTriangle(const ImDrawVert& a, const ImDrawVert& b, const ImDrawVert& c,
                  const Texture& texture, const Clip& clip, Image& image);

// Every ImTextureID in `data` is a `const Texture*`. The image already has its background.
void Rasterize(const ImDrawData& data, Image& image);

}  // namespace stallscope::raster
