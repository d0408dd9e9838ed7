// The text of an SVG page as it grows: elements in order, clips that are named once. Private to the
// room.
#ifndef STALLSCOPE_GUI_RASTER_SVG_PAGE_H_
#define STALLSCOPE_GUI_RASTER_SVG_PAGE_H_

#include <imgui.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "gui/raster/glyph_index.h"

namespace stallscope::raster {

class SvgPage {
 public:
  SvgPage(ImVec2 size, uint32_t background);

  // What follows is cut to this rectangle.
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

}  // namespace stallscope::raster

#endif  // STALLSCOPE_GUI_RASTER_SVG_PAGE_H_
