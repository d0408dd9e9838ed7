// One triangle into an image. Private to the room.
#ifndef STALLSCOPE_GUI_RASTER_TRIANGLE_H_
#define STALLSCOPE_GUI_RASTER_TRIANGLE_H_

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

}  // namespace stallscope::raster

#endif  // STALLSCOPE_GUI_RASTER_TRIANGLE_H_
