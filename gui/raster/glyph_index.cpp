#include "gui/raster/glyph_index.h"

namespace stallscope::raster {

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
  // A quad that was cut at its left or top: rare, and then a walk over all is quick enough.
  for (const auto& [corner, found] : by_corner_) {
    const ImFontGlyph& glyph = *found.glyph;
    if (u >= glyph.U0 && u < glyph.U1 && v >= glyph.V0 && v < glyph.V1) return found;
  }
  return {};
}

}  // namespace stallscope::raster
