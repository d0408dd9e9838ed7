#include "gui/raster/svg_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "analyzer/base/escape.h"
#include "analyzer/base/utf8.h"

namespace stallscope::raster {
namespace {

// Two digits after the point and no more than are needed: "12", "12.5".
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

}  // namespace

SvgPage::SvgPage(ImVec2 size, uint32_t background) : size_(size), clip_(0, 0, size.x, size.y) {
  Rectangle({0, 0}, size, background | IM_COL32_A_MASK);
}

void SvgPage::SetClip(const ImVec4& clip) {
  if (clip.x == clip_.x && clip.y == clip_.y && clip.z == clip_.z && clip.w == clip_.w) return;
  EndClip();
  clip_ = clip;
}

// Whether anything of it would be seen; opens the clip where it cuts something off. A page without
// needless clips is half as long, and programs that edit SVG like it better.
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
  // Edges on whole pixels stay sharp, so that bars side by side show no seam.
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

}  // namespace stallscope::raster
