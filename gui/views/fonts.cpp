#include "gui/views/fonts.h"

#include <imgui_freetype.h>

#include <array>
#include <cmath>

#include "gui/views/font_data.h"

namespace stallscope::views {
namespace {

// Latin with all its accents, Greek for units, punctuation, super- and subscripts.
constexpr std::array<ImWchar, 13> kLetters = {
    0x20, 0x17F, 0x391, 0x3C9, 0x2010, 0x2027, 0x2030, 0x203A, 0x2070, 0x209C, 0x20AC, 0x20AC, 0};
// Arrows, mathematics, boxes, circles, ticks.
constexpr std::array<ImWchar, 9> kSigns = {0x2190, 0x21FF, 0x2200, 0x226F, 0x2318,
                                           0x2318, 0x25A0, 0x25FF, 0};
constexpr std::array<ImWchar, 5> kTicks = {0x2605, 0x2606, 0x2713, 0x2718, 0};

// The atlas only reads it: nothing here belongs to it.
void* Bytes(FontFile file) { return const_cast<unsigned char*>(FontData(file).data()); }

ImFont* AddFile(ImFontAtlas& atlas, FontFile file, float size, const ImWchar* ranges, bool merge) {
  ImFontConfig config;
  config.FontDataOwnedByAtlas = false;
  config.MergeMode = merge;
  // Sharp stems, and shapes as they were drawn: the strong hinter bends Roboto at small sizes.
  config.FontBuilderFlags = ImGuiFreeTypeBuilderFlags_LightHinting;
  config.PixelSnapH = true;
  return atlas.AddFontFromMemoryTTF(Bytes(file), static_cast<int>(FontData(file).size()), size,
                                    &config, ranges);
}

ImFont* AddFace(ImFontAtlas& atlas, FontFile file, float size) {
  ImFont* font = AddFile(atlas, file, size, kLetters.data(), false);
  // The signs' own letters are larger than Roboto's at the same size.
  AddFile(atlas, FontFile::kSigns, std::round(size * 0.9f), kSigns.data(), true);
  AddFile(atlas, FontFile::kSigns, std::round(size * 0.9f), kTicks.data(), true);
  return font;
}

}  // namespace

Fonts AddFonts(ImFontAtlas& atlas, double scale) {
  atlas.FontBuilderIO = ImGuiFreeType::GetBuilderForFreeType();
  atlas.Flags |= ImFontAtlasFlags_NoMouseCursors;
  const auto size = [scale](double of_body) {
    return static_cast<float>(std::round(double{kBodySize} * of_body * scale));
  };
  Fonts fonts;
  fonts.body = AddFace(atlas, FontFile::kRegular, size(1));
  fonts.small = AddFace(atlas, FontFile::kRegular, size(0.875));
  fonts.bold = AddFace(atlas, FontFile::kBold, size(1));
  fonts.title = AddFace(atlas, FontFile::kBold, size(1.75));
  fonts.mono = AddFace(atlas, FontFile::kMono, size(0.875));
  return fonts;
}

std::vector<FontFace> FacesOf(const Fonts& fonts) {
  // Units per em over ascender minus descender, from the fonts' hhea tables.
  const float roboto = 2048.0f / (1900 + 500);
  const float dejavu = 2048.0f / (1901 + 483);
  const std::string sans = "Roboto, 'Helvetica Neue', Arial, sans-serif";
  return {{fonts.body, sans, 400, roboto},
          {fonts.small, sans, 400, roboto},
          {fonts.bold, sans, 500, roboto},
          {fonts.title, sans, 500, roboto},
          {fonts.mono, "'DejaVu Sans Mono', monospace", 400, dejavu}};
}

}  // namespace stallscope::views
