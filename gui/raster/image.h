// Pictures in memory, and as a PNG. Any thread.
#ifndef STALLSCOPE_GUI_RASTER_IMAGE_H_
#define STALLSCOPE_GUI_RASTER_IMAGE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/base/result.h"

namespace stallscope::raster {

// Pixels as Dear ImGui packs colours (IM_COL32): red in the lowest byte, alpha in the highest.
struct Image {
  int width = 0;
  int height = 0;
  std::vector<uint32_t> pixels;  // width x height, top row first

  Image() = default;
  Image(int columns, int rows, uint32_t color)
      : width(columns),
        height(rows),
        pixels(static_cast<size_t>(columns) * static_cast<size_t>(rows), color) {}

  uint32_t& At(int x, int y) {
    return pixels[static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x)];
  }
  uint32_t At(int x, int y) const {
    return pixels[static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x)];
  }
};

// What an ImTextureID of draw data that this room draws points to. Its owner keeps the pixels
// alive, and as they are, until the picture is drawn.
struct Texture {
  int width = 0;
  int height = 0;
  const uint32_t* pixels = nullptr;
  // Mixes the four texels around a point, as a font wants it; otherwise takes the nearest one.
  bool smooth = true;
};

// The file's bytes: RGB, 8 bits. Alpha is left out: a window is opaque.
Result<std::string> EncodePng(const Image& image);

}  // namespace stallscope::raster

#endif  // STALLSCOPE_GUI_RASTER_IMAGE_H_
