#include "gui/raster/svg.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analyzer/base/escape.h"
#include "analyzer/base/utf8.h"
#include "gui/raster/image.h"

namespace stallscope::raster {
namespace {

// Finds the letter at a position of the font texture.
class GlyphIndex {
 public:
  // The fonts must outlive the object.
  explicit GlyphIndex(const std::vector<SvgFont>& fonts);

  struct Found {
    const SvgFont* font = nullptr;
    const ImFontGlyph* glyph = nullptr;
  };
  // The glyph whose corner is (u, v), or for a cut quad the glyph that contains (u, v). Null
  // pointers: none.
  Found At(float u, float v) const;

 private:
  // By the upper left corner: row by row, as the packer laid them out.
  std::map<std::pair<float, float>, Found> by_corner_;
};

// Builds the page: elements in order, each clip defined once.
class SvgPage {
 public:
  SvgPage(ImVec2 size, uint32_t background);

  // Clips everything that follows.
  void SetClip(const ImVec4& clip);
  // `corners` of a convex shape, in order.
  void Polygon(const std::vector<ImVec2>& corners, uint32_t color);
  void Rectangle(ImVec2 from, ImVec2 to, uint32_t color);
  // A letter whose quad has its upper left corner at `at`. Letters that follow each other on one
  // line become one element of text.
  void Letter(const GlyphIndex::Found& found, ImVec2 at, uint32_t color);

  // The whole page; the object is spent.
  std::string Finish();

 private:
  struct Line {
    const SvgFont* font = nullptr;
    float baseline = 0;
    float pen = 0;  // where the next letter would begin
    uint32_t color = 0;
    std::string text;
    std::string places;  // of each letter, "12 20.5"
  };

  bool Shows(ImVec2 from, ImVec2 to);
  void EndLine();
  void EndClip();

  ImVec2 size_;
  std::string body_;
  std::string clips_;
  std::map<std::tuple<float, float, float, float>, size_t> clip_ids_;
  ImVec4 clip_;
  bool clip_open_ = false;  // an element <g> is
  Line line_;
};

GlyphIndex::GlyphIndex(const std::vector<SvgFont>& fonts) {
  for (const SvgFont& font : fonts) {
    for (const ImFontGlyph& glyph : font.font->Glyphs) {
      // The first stays: glyphs that the font has under two names share their texels.
      by_corner_.emplace(std::pair(glyph.U0, glyph.V0), Found{&font, &glyph});
    }
  }
}

GlyphIndex::Found GlyphIndex::At(float u, float v) const {
  const auto exact = by_corner_.find({u, v});
  if (exact != by_corner_.end()) return exact->second;
  // A quad cut at its left or top: rare, so a linear search is fast enough.
  for (const auto& [corner, found] : by_corner_) {
    const ImFontGlyph& glyph = *found.glyph;
    if (u >= glyph.U0 && u < glyph.U1 && v >= glyph.V0 && v < glyph.V1) return found;
  }
  return {};
}

// At most two decimals: "12", "12.5".
std::string Short(float value) {
  std::string text = fmt::format("{:.2f}", value);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string Fill(uint32_t color) {
  std::string text =
      fmt::format("fill=\"#{:02x}{:02x}{:02x}\"", color & 255, color >> 8 & 255, color >> 16 & 255);
  const uint32_t alpha = color >> 24;
  if (alpha < 255) {
    text += fmt::format(" fill-opacity=\"{}\"", Short(static_cast<float>(alpha) / 255));
  }
  return text;
}

SvgPage::SvgPage(ImVec2 size, uint32_t background) : size_(size), clip_(0, 0, size.x, size.y) {
  Rectangle({0, 0}, size, background | IM_COL32_A_MASK);
}

void SvgPage::SetClip(const ImVec4& clip) {
  if (clip.x == clip_.x && clip.y == clip_.y && clip.z == clip_.z && clip.w == clip_.w) return;
  EndClip();
  clip_ = clip;
}

// Whether any of it is visible; opens the clip only if it cuts something off. That halves the page,
// and editors of SVG handle it better.
bool SvgPage::Shows(ImVec2 from, ImVec2 to) {
  if (to.x <= clip_.x || to.y <= clip_.y || from.x >= clip_.z || from.y >= clip_.w) return false;
  const bool whole = from.x >= clip_.x && from.y >= clip_.y && to.x <= clip_.z && to.y <= clip_.w;
  if (whole || clip_open_) return true;
  EndLine();
  const auto [entry, is_new] =
      clip_ids_.try_emplace({clip_.x, clip_.y, clip_.z, clip_.w}, clip_ids_.size());
  if (is_new) {
    clips_ += fmt::format(
        "<clipPath id=\"c{}\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/></clipPath>\n",
        entry->second, Short(clip_.x), Short(clip_.y), Short(clip_.z - clip_.x),
        Short(clip_.w - clip_.y));
  }
  body_ += fmt::format("<g clip-path=\"url(#c{})\">\n", entry->second);
  clip_open_ = true;
  return true;
}

void SvgPage::Polygon(const std::vector<ImVec2>& corners, uint32_t color) {
  if (color >> 24 == 0 || corners.size() < 3) return;
  ImVec2 from = corners.front();
  ImVec2 to = from;
  for (const ImVec2& corner : corners) {
    from = {std::min(from.x, corner.x), std::min(from.y, corner.y)};
    to = {std::max(to.x, corner.x), std::max(to.y, corner.y)};
  }
  if (!Shows(from, to)) return;
  EndLine();
  body_ += "<polygon points=\"";
  for (size_t i = 0; i < corners.size(); ++i) {
    fmt::format_to(std::back_inserter(body_), "{}{},{}", i == 0 ? "" : " ", Short(corners[i].x),
                   Short(corners[i].y));
  }
  fmt::format_to(std::back_inserter(body_), "\" {}/>\n", Fill(color));
}

void SvgPage::Rectangle(ImVec2 from, ImVec2 to, uint32_t color) {
  if (color >> 24 == 0 || !Shows(from, to)) return;
  EndLine();
  // Crisp edges, so that adjacent bars show no seam.
  fmt::format_to(std::back_inserter(body_),
                 "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" {} "
                 "shape-rendering=\"crispEdges\"/>\n",
                 Short(from.x), Short(from.y), Short(to.x - from.x), Short(to.y - from.y),
                 Fill(color));
}

void SvgPage::Letter(const GlyphIndex::Found& found, ImVec2 at, uint32_t color) {
  const ImFontGlyph& glyph = *found.glyph;
  if (!Shows(at, {at.x + glyph.X1 - glyph.X0, at.y + glyph.Y1 - glyph.Y0})) return;
  const float pen = at.x - glyph.X0;
  const float baseline = at.y - glyph.Y0 + found.font->font->Ascent;
  const float gap = pen - line_.pen;
  const float space = found.font->font->GetCharAdvance(' ');
  const bool goes_on = line_.font == found.font && line_.color == color &&
                       std::abs(line_.baseline - baseline) < 0.5f && gap > -1 && gap < space * 1.5f;
  if (!goes_on) {
    EndLine();
    line_ = {found.font, baseline, pen, color, "", ""};
  } else if (gap > space * 0.5f) {
    line_.text += ' ';
    line_.places += " " + Short(line_.pen);
  }
  if (!line_.places.empty()) line_.places += ' ';
  line_.places += Short(pen);
  AppendUtf8(glyph.Codepoint, line_.text);
  line_.pen = pen + glyph.AdvanceX;
}

void SvgPage::EndLine() {
  if (line_.font == nullptr) return;
  const SvgFont& font = *line_.font;
  fmt::format_to(std::back_inserter(body_),
                 "<text x=\"{}\" y=\"{}\" font-family=\"{}\" font-weight=\"{}\" font-size=\"{}\" "
                 "{}>{}</text>\n",
                 line_.places, Short(line_.baseline), EscapeMarkup(font.family), font.weight,
                 Short(font.font->FontSize * font.em_per_height), Fill(line_.color),
                 EscapeMarkup(line_.text));
  line_ = {};
}

void SvgPage::EndClip() {
  EndLine();
  if (clip_open_) body_ += "</g>\n";
  clip_open_ = false;
}

std::string SvgPage::Finish() {
  EndClip();
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\">\n<defs>\n{2}</defs>\n{3}</svg>\n",
      Short(size_.x), Short(size_.y), clips_, body_);
}

// Recovers the shapes of one command from its triangles.
class Shapes {
 public:
  Shapes(const ImDrawList& list, const ImDrawCmd& command, ImVec2 origin, SvgPage& page)
      : index_(list.IdxBuffer.Data + command.IdxOffset),
        vertices_(list.VtxBuffer.Data + command.VtxOffset),
        count_(command.ElemCount),
        origin_(origin),
        page_(page) {}

  // Letters are quads with an area in the texture; everything else uses one white texel.
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

  // A quad over texels: each run of one color is a rectangle.
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

  // The triangles from `at` on that are one convex shape: (0, 1, 2), (0, 2, 3), ... in one color.
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
