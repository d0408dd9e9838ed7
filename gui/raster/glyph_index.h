// From a place in the fonts' texture back to the letter that lies there. Private to the room.
#ifndef STALLSCOPE_GUI_RASTER_GLYPH_INDEX_H_
#define STALLSCOPE_GUI_RASTER_GLYPH_INDEX_H_

#include <imgui.h>

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "gui/raster/svg.h"

namespace stallscope::raster {

class GlyphIndex {
 public:
  // The fonts must outlive the object.
  explicit GlyphIndex(const std::vector<SvgFont>& fonts);

  struct Found {
    const SvgFont* font = nullptr;
    const ImFontGlyph* glyph = nullptr;
  };
  // The glyph whose corner is (u, v); where its quad was cut, the one that (u, v) lies in. Null
  // pointers: none.
  Found At(float u, float v) const;

 private:
  // By the upper left corner: row by row, as the packer laid them out.
  std::map<std::pair<float, float>, Found> by_corner_;
};

}  // namespace stallscope::raster

#endif  // STALLSCOPE_GUI_RASTER_GLYPH_INDEX_H_
