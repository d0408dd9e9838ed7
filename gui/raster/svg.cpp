#include "gui/raster/svg.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "gui/raster/glyph_index.h"
#include "gui/raster/image.h"
#include "gui/raster/svg_page.h"

namespace stallscope::raster {
namespace {

// The shapes of one command, found again in its triangles.
class Shapes {
 public:
  Shapes(const ImDrawList& list, const ImDrawCmd& command, ImVec2 origin, SvgPage& page)
      : index_(list.IdxBuffer.Data + command.IdxOffset),
        vertices_(list.VtxBuffer.Data + command.VtxOffset),
        count_(command.ElemCount),
        origin_(origin),
        page_(page) {}

  // Letters are quads with an extent in the texture, everything else lies on one white texel.
  void DrawWithText(const GlyphIndex& glyphs) {
    for (unsigned int at = 0; at + 2 < count_;) {
      const ImDrawVert& from = Vertex(at);
      const ImDrawVert& to = Vertex(at + 2);
      const bool textured = from.uv.x != to.uv.x || from.uv.y != to.uv.y;
      if (!textured || at + 5 >= count_) {
        at = DrawFan(at, count_);
        continue;
      }
      const GlyphIndex::Found found = glyphs.At(from.uv.x, from.uv.y);
      if (found.glyph != nullptr) page_.Letter(found, Place(from), from.col);
      at += 6;
    }
  }

  // A quad over texels: each run of one colour is a rectangle.
  void DrawTexels(const Texture& texture) {
    for (unsigned int at = 0; at + 5 < count_; at += 6) {
      DrawTexelRows(texture, Vertex(at), Vertex(at + 2));
    }
  }

 private:
  const ImDrawVert& Vertex(unsigned int at) const { return vertices_[index_[at]]; }
  ImVec2 Place(const ImDrawVert& vertex) const {
    return {vertex.pos.x - origin_.x, vertex.pos.y - origin_.y};
  }

  // The triangles from `at` on that are one convex shape: (0, 1, 2), (0, 2, 3), ... in one colour.
  // Returns where the next shape begins.
  unsigned int DrawFan(unsigned int at, unsigned int end) {
    std::vector<ImVec2> corners = {Place(Vertex(at)), Place(Vertex(at + 1)), Place(Vertex(at + 2))};
    const uint32_t color = MeanColor(at);
    const ImDrawIdx hub = index_[at];
    ImDrawIdx last = index_[at + 2];
    at += 3;
    while (at + 2 < end && index_[at] == hub && index_[at + 1] == last && MeanColor(at) == color) {
      last = index_[at + 2];
      corners.push_back(Place(Vertex(at + 2)));
      at += 3;
    }
    const bool upright = corners.size() == 4 && corners[0].y == corners[1].y &&
                         corners[1].x == corners[2].x && corners[2].y == corners[3].y &&
                         corners[3].x == corners[0].x;
    if (upright) {
      page_.Rectangle({std::min(corners[0].x, corners[2].x), std::min(corners[0].y, corners[2].y)},
                      {std::max(corners[0].x, corners[2].x), std::max(corners[0].y, corners[2].y)},
                      color);
    } else {
      page_.Polygon(corners, color);
    }
    return at;
  }

  uint32_t MeanColor(unsigned int at) const {
    const std::array<uint32_t, 3> colors = {Vertex(at).col, Vertex(at + 1).col, Vertex(at + 2).col};
    if (colors[0] == colors[1] && colors[0] == colors[2]) return colors[0];
    uint32_t mean = 0;
    for (int shift = 0; shift < 32; shift += 8) {
      uint32_t sum = 0;
      for (const uint32_t color : colors) sum += color >> shift & 255;
      mean |= sum / 3 << shift;
    }
    return mean;
  }

  void DrawTexelRows(const Texture& texture, const ImDrawVert& from, const ImDrawVert& to) {
    const auto columns = static_cast<float>(texture.width);
    const auto rows = static_cast<float>(texture.height);
    const int first = std::max(0, static_cast<int>(std::floor(from.uv.x * columns + 0.01f)));
    const int last =
        std::min(texture.width, static_cast<int>(std::ceil(to.uv.x * columns - 0.01f)));
    const int top = std::max(0, static_cast<int>(std::floor(from.uv.y * rows + 0.01f)));
    const int bottom =
        std::min(texture.height, static_cast<int>(std::ceil(to.uv.y * rows - 0.01f)));
    if (first >= last || top >= bottom) return;
    const ImVec2 a = Place(from);
    const ImVec2 b = Place(to);
    const float wide = (b.x - a.x) / static_cast<float>(last - first);
    const float high = (b.y - a.y) / static_cast<float>(bottom - top);
    for (int y = top; y < bottom; ++y) {
      const uint32_t* row = texture.pixels + static_cast<ptrdiff_t>(y) * texture.width;
      for (int x = first; x < last;) {
        int end = x + 1;
        while (end < last && row[end] == row[x]) ++end;
        const float upper = a.y + static_cast<float>(y - top) * high;
        page_.Rectangle({a.x + static_cast<float>(x - first) * wide, upper},
                        {a.x + static_cast<float>(end - first) * wide, upper + high}, row[x]);
        x = end;
      }
    }
  }

  const ImDrawIdx* index_;
  const ImDrawVert* vertices_;
  unsigned int count_;
  ImVec2 origin_;
  SvgPage& page_;
};

}  // namespace

std::string Svg(const ImDrawData& data, const std::vector<SvgFont>& fonts, uint32_t background) {
  SvgPage page(data.DisplaySize, background);
  const GlyphIndex glyphs(fonts);
  const ImTextureID atlas = fonts.empty() ? nullptr : fonts.front().font->ContainerAtlas->TexID;
  const ImVec2 origin = data.DisplayPos;
  for (int i = 0; i < data.CmdListsCount; ++i) {
    const ImDrawList& list = *data.CmdLists[i];
    for (const ImDrawCmd& command : list.CmdBuffer) {
      if (command.UserCallback != nullptr || command.GetTexID() == nullptr) continue;
      const ImVec4& clip = command.ClipRect;
      page.SetClip({std::max(0.0f, clip.x - origin.x), std::max(0.0f, clip.y - origin.y),
                    std::min(data.DisplaySize.x, clip.z - origin.x),
                    std::min(data.DisplaySize.y, clip.w - origin.y)});
      Shapes shapes(list, command, origin, page);
      if (command.GetTexID() == atlas) {
        shapes.DrawWithText(glyphs);
      } else {
        shapes.DrawTexels(*static_cast<const Texture*>(command.GetTexID()));
      }
    }
  }
  return page.Finish();
}

}  // namespace stallscope::raster
