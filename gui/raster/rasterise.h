// Draws Dear ImGui's draw data into an image, as its OpenGL backend draws it into a window: no
// display, no driver, the same pixels on every machine.
//
// Triangles are filled by the rule of OpenGL: a pixel whose centre lies inside belongs to the
// triangle, one on a shared edge to exactly one of its two neighbours. Callbacks in the data are
// not called: they draw with a graphics library. Any thread.
#ifndef STALLSCOPE_GUI_RASTER_RASTERISE_H_
#define STALLSCOPE_GUI_RASTER_RASTERISE_H_

#include <imgui.h>

#include "gui/raster/image.h"

namespace stallscope::raster {

// Every ImTextureID in `data` is a `const Texture*`. The image holds the background already.
void Rasterise(const ImDrawData& data, Image& image);

}  // namespace stallscope::raster

#endif  // STALLSCOPE_GUI_RASTER_RASTERISE_H_
