#include "gui/raster/rasterize.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace stallscope::raster {
namespace {

// Corners snap to 1/256 of a pixel, as hardware has it: edge functions are exact in integers, so
// that neighbors neither overlap nor leave a crack.
constexpr int64_t kSubpixels = 256;

struct Color {
  float r = 0, g = 0, b = 0, a = 0;  // 0 to 255
};

Color Unpack(uint32_t packed) {
  return {static_cast<float>(packed & 255), static_cast<float>(packed >> 8 & 255),
          static_cast<float>(packed >> 16 & 255), static_cast<float>(packed >> 24)};
}

uint32_t Byte(float value) { return static_cast<uint32_t>(std::lround(value)); }

Color Mix(const Color& from, const Color& to, float part) {
  return {from.r + (to.r - from.r) * part, from.g + (to.g - from.g) * part,
          from.b + (to.b - from.b) * part, from.a + (to.a - from.a) * part};
}

Color Texel(const Texture& texture, int x, int y) {
  x = std::clamp(x, 0, texture.width - 1);
  y = std::clamp(y, 0, texture.height - 1);
  return Unpack(texture.pixels[static_cast<ptrdiff_t>(y) * texture.width + x]);
}

Color Sample(const Texture& texture, float u, float v) {
  const float x = u * static_cast<float>(texture.width);
  const float y = v * static_cast<float>(texture.height);
  if (!texture.smooth) {
    return Texel(texture, static_cast<int>(std::floor(x)), static_cast<int>(std::floor(y)));
  }
  const float left = std::floor(x - 0.5f);
  const float top = std::floor(y - 0.5f);
  const float right_part = x - 0.5f - left;
  const float lower_part = y - 0.5f - top;
  const int column = static_cast<int>(left);
  const int row = static_cast<int>(top);
  const Color upper = Mix(Texel(texture, column, row), Texel(texture, column + 1, row), right_part);
  const Color lower =
      Mix(Texel(texture, column, row + 1), Texel(texture, column + 1, row + 1), right_part);
  return Mix(upper, lower, lower_part);
}

// Blends by the alpha of `color`.
void Blend(const Color& color, uint32_t& pixel) {
  if (color.a <= 0) return;
  const float part = color.a / 255;
  Color mixed = Mix(Unpack(pixel), color, part);
  mixed.a = color.a + static_cast<float>(pixel >> 24) * (1 - part);
  pixel = Byte(mixed.r) | Byte(mixed.g) << 8 | Byte(mixed.b) << 16 | Byte(mixed.a) << 24;
}

Color Times(const Color& tint, const Color& texel) {
  return {tint.r * texel.r / 255, tint.g * texel.g / 255, tint.b * texel.b / 255,
          tint.a * texel.a / 255};
}

// Positive on the inner side of the edge from `from` to `to`; linear in x and y.
struct Edge {
  int64_t step_x = 0;  // what a pixel to the right adds
  int64_t step_y = 0;
  int64_t at_origin = 0;  // at the center of pixel (0, 0)
  int64_t at_least = 0;   // 0 if the triangle owns points on this edge, 1 if its neighbor does

  Edge(int64_t from_x, int64_t from_y, int64_t to_x, int64_t to_y) {
    const int64_t dx = to_x - from_x;
    const int64_t dy = to_y - from_y;
    step_x = -dy * kSubpixels;
    step_y = dx * kSubpixels;
    const int64_t half = kSubpixels / 2;
    at_origin = dx * (half - from_y) - dy * (half - from_x);
    // Clockwise on a screen whose y grows downwards: a top edge runs right, a left edge runs up.
    const bool owned = (dy == 0 && dx > 0) || dy < 0;
    at_least = owned ? 0 : 1;
  }
  int64_t At(int x, int y) const { return at_origin + step_x * x + step_y * y; }
};

// Narrows the pixels of a row, [first, last], to the inner side of the edge.
void Narrow(const Edge& edge, int64_t at_zero, int64_t& first, int64_t& last) {
  const int64_t need = edge.at_least - at_zero;  // step_x * x >= need
  if (edge.step_x == 0) {
    if (need > 0) last = first - 1;
    return;
  }
  const int64_t step = edge.step_x;
  int64_t quotient = need / step;
  const int64_t rest = need % step;
  if (step > 0) {
    if (rest > 0) ++quotient;
    first = std::max(first, quotient);
  } else {
    if (rest > 0) --quotient;
    last = std::min(last, quotient);
  }
}

int64_t Snap(float position) {
  return std::llround(static_cast<double>(position) * static_cast<double>(kSubpixels));
}

struct Corner {
  int64_t x = 0;
  int64_t y = 0;
  const ImDrawVert* vertex = nullptr;
};

}  // namespace

void FillTriangle(const ImDrawVert& a, const ImDrawVert& b, const ImDrawVert& c,
                  const Texture& texture, const Clip& clip, Image& image) {
  std::array<Corner, 3> p = {{{Snap(a.pos.x), Snap(a.pos.y), &a},
                              {Snap(b.pos.x), Snap(b.pos.y), &b},
                              {Snap(c.pos.x), Snap(c.pos.y), &c}}};
  int64_t area = (p[1].x - p[0].x) * (p[2].y - p[0].y) - (p[1].y - p[0].y) * (p[2].x - p[0].x);
  if (area == 0) return;
  if (area < 0) {
    std::swap(p[1], p[2]);
    area = -area;
  }
  // Each edge lies across from the corner whose weight it gives.
  const std::array<Edge, 3> edges = {Edge(p[1].x, p[1].y, p[2].x, p[2].y),
                                     Edge(p[2].x, p[2].y, p[0].x, p[0].y),
                                     Edge(p[0].x, p[0].y, p[1].x, p[1].y)};
  const auto [low_y, high_y] = std::minmax({p[0].y, p[1].y, p[2].y});
  const int first_row = static_cast<int>(std::max<int64_t>(clip.min_y, low_y / kSubpixels - 1));
  const int last_row = static_cast<int>(std::min<int64_t>(clip.max_y - 1, high_y / kSubpixels + 1));

  const ImDrawVert& v0 = *p[0].vertex;
  const ImDrawVert& v1 = *p[1].vertex;
  const ImDrawVert& v2 = *p[2].vertex;
  const bool one_tint = v0.col == v1.col && v0.col == v2.col;
  const bool one_texel =
      v0.uv.x == v1.uv.x && v0.uv.x == v2.uv.x && v0.uv.y == v1.uv.y && v0.uv.y == v2.uv.y;
  const std::array<Color, 3> tints = {Unpack(v0.col), Unpack(v1.col), Unpack(v2.col)};
  const Color texel = one_texel ? Sample(texture, v0.uv.x, v0.uv.y) : Color{};
  const Color plain = Times(tints[0], texel);

  for (int y = first_row; y <= last_row; ++y) {
    int64_t first = clip.min_x;
    int64_t last = clip.max_x - 1;
    for (const Edge& edge : edges) Narrow(edge, edge.At(0, y), first, last);
    for (int x = static_cast<int>(first); x <= static_cast<int>(last); ++x) {
      uint32_t& pixel = image.At(x, y);
      if (one_tint && one_texel) {
        Blend(plain, pixel);
        continue;
      }
      const auto weight = [&](size_t i) {
        return static_cast<float>(static_cast<double>(edges[i].At(x, y)) /
                                  static_cast<double>(area));
      };
      const float w1 = weight(1);
      const float w2 = weight(2);
      const float w0 = 1 - w1 - w2;
      Color tint = tints[0];
      if (!one_tint) {
        tint = {tints[0].r * w0 + tints[1].r * w1 + tints[2].r * w2,
                tints[0].g * w0 + tints[1].g * w1 + tints[2].g * w2,
                tints[0].b * w0 + tints[1].b * w1 + tints[2].b * w2,
                tints[0].a * w0 + tints[1].a * w1 + tints[2].a * w2};
      }
      const Color sampled = one_texel ? texel
                                      : Sample(texture, v0.uv.x * w0 + v1.uv.x * w1 + v2.uv.x * w2,
                                               v0.uv.y * w0 + v1.uv.y * w1 + v2.uv.y * w2);
      Blend(Times(tint, sampled), pixel);
    }
  }
}

namespace {

// As the OpenGL backend sets its scissor: cut to whole pixels towards zero.
Clip ClipOf(const ImDrawCmd& command, const ImDrawData& data, const Image& image) {
  const auto pixel = [](float position, float origin, float scale) {
    return static_cast<int>((position - origin) * scale);
  };
  const ImVec2 scale = data.FramebufferScale;
  Clip clip;
  clip.min_x = std::max(0, pixel(command.ClipRect.x, data.DisplayPos.x, scale.x));
  clip.min_y = std::max(0, pixel(command.ClipRect.y, data.DisplayPos.y, scale.y));
  clip.max_x = std::min(image.width, pixel(command.ClipRect.z, data.DisplayPos.x, scale.x));
  clip.max_y = std::min(image.height, pixel(command.ClipRect.w, data.DisplayPos.y, scale.y));
  return clip;
}

}  // namespace

void Rasterize(const ImDrawData& data, Image& image) {
  const auto placed = [&](ImDrawVert vertex) {
    vertex.pos.x = (vertex.pos.x - data.DisplayPos.x) * data.FramebufferScale.x;
    vertex.pos.y = (vertex.pos.y - data.DisplayPos.y) * data.FramebufferScale.y;
    return vertex;
  };
  for (int i = 0; i < data.CmdListsCount; ++i) {
    const ImDrawList& list = *data.CmdLists[i];
    for (const ImDrawCmd& command : list.CmdBuffer) {
      if (command.UserCallback != nullptr || command.GetTexID() == nullptr) continue;
      const Clip clip = ClipOf(command, data, image);
      if (clip.min_x >= clip.max_x || clip.min_y >= clip.max_y) continue;
      const auto& texture = *static_cast<const Texture*>(command.GetTexID());
      const ImDrawIdx* index = list.IdxBuffer.Data + command.IdxOffset;
      const ImDrawVert* vertices = list.VtxBuffer.Data + command.VtxOffset;
      for (unsigned int at = 0; at + 2 < command.ElemCount; at += 3) {
        FillTriangle(placed(vertices[index[at]]), placed(vertices[index[at + 1]]),
                     placed(vertices[index[at + 2]]), texture, clip, image);
      }
    }
  }
}

}  // namespace stallscope::raster
