// Draws Dear ImGui's draw data into an image, as its OpenGL backend draws it into a window: no
// display, no driver, the same pixels on every machine.
//
// Triangles are filled by the rule of OpenGL: a pixel whose centre lies inside belongs to the
// triangle, one on a shared edge to exactly one of its two neighbours. Callbacks in the data are
// not called: they draw with a graphics library. Any thread.
#ifndef STALLSCOPE_GUI_RASTER_RASTERIZE_H_
#define STALLSCOPE_GUI_RASTER_RASTERIZE_H_

#include <imgui.h>

#include "gui/raster/image.h"

namespace stallscope::raster {

// Pixels that may be touched: from the minimum to before the maximum.
struct Clip {
  int min_x = 0;
  int min_y = 0;
  int max_x = 0;
  int max_y = 0;
};

// Vertices are in pixels of the image, in either winding. The clip lies within the image.
void FillTriangle(const ImDrawVert& a, const ImDrawVert& b, const ImDrawVert& c,
                  const Texture& texture, const Clip& clip, Image& image);

// Every ImTextureID in `data` is a `const Texture*`. The image holds the background already.
void Rasterize(const ImDrawData& data, Image& image);

}  // namespace stallscope::raster

#endif  // STALLSCOPE_GUI_RASTER_RASTERIZE_H_
