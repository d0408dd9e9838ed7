// Pictures in memory, and as a PNG. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/base/result.h"

namespace stallscope::raster {

// Pixels as Dear ImGui packs colors (IM_COL32): red in the lowest byte, alpha in the highest.
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

// What an ImTextureID points to in draw data for this room. Its owner keeps the pixels alive and
// unchanged until the picture is drawn.
struct Texture {
  int width = 0;
  int height = 0;
  const uint32_t* pixels = nullptr;
  // Bilinear filtering, for fonts; otherwise the nearest texel.
  bool smooth = true;
};

// The file's bytes: 8-bit RGB, no alpha, because a window is opaque.
Result<std::string> EncodePng(const Image& image);

}  // namespace stallscope::raster
