#include "gui/views/fonts.h"

#include <imgui_freetype.h>

#include <array>
#include <cmath>
#include <span>

// The fonts that are built into the program, so that text looks the same on every machine.
extern "C" {
extern const unsigned char stallscope_font_regular[], stallscope_font_regular_end[];
extern const unsigned char stallscope_font_bold[], stallscope_font_bold_end[];
extern const unsigned char stallscope_font_mono[], stallscope_font_mono_end[];
extern const unsigned char stallscope_font_signs[], stallscope_font_signs_end[];
}

namespace stallscope::views {
namespace {

using FontFile = std::span<const unsigned char>;

// Roboto, whose digits are all of one width, and Roboto Medium.
const FontFile kRegular(stallscope_font_regular, stallscope_font_regular_end);
const FontFile kBold(stallscope_font_bold, stallscope_font_bold_end);
// DejaVu Sans Mono for code, and DejaVu Sans for arrows and other signs that Roboto does not have.
const FontFile kMono(stallscope_font_mono, stallscope_font_mono_end);
const FontFile kSignFont(stallscope_font_signs, stallscope_font_signs_end);

// Latin with all its accents, Greek for units, punctuation, super- and subscripts.
constexpr std::array<ImWchar, 13> kLetters = {
    0x20, 0x17F, 0x391, 0x3C9, 0x2010, 0x2027, 0x2030, 0x203A, 0x2070, 0x209C, 0x20AC, 0x20AC, 0};
// Arrows, mathematics, boxes, circles, ticks.
constexpr std::array<ImWchar, 9> kSigns = {0x2190, 0x21FF, 0x2200, 0x226F, 0x2318,
                                           0x2318, 0x25A0, 0x25FF, 0};
constexpr std::array<ImWchar, 5> kTicks = {0x2605, 0x2606, 0x2713, 0x2718, 0};

ImFont* AddFile(ImFontAtlas& atlas, FontFile file, float size, const ImWchar* ranges, bool merge) {
  ImFontConfig config;
  config.FontDataOwnedByAtlas = false;
  config.MergeMode = merge;
  // Sharp stems, and shapes as they were drawn: the strong hinter bends Roboto at small sizes.
  config.FontBuilderFlags = ImGuiFreeTypeBuilderFlags_LightHinting;
  config.PixelSnapH = true;
  // The atlas only reads the bytes: nothing here belongs to it.
  auto* const bytes = const_cast<unsigned char*>(file.data());
  return atlas.AddFontFromMemoryTTF(bytes, static_cast<int>(file.size()), size, &config, ranges);
}

ImFont* AddFace(ImFontAtlas& atlas, FontFile file, float size) {
  ImFont* font = AddFile(atlas, file, size, kLetters.data(), false);
  // The signs' own letters are larger than Roboto's at the same size.
  AddFile(atlas, kSignFont, std::round(size * 0.9f), kSigns.data(), true);
  AddFile(atlas, kSignFont, std::round(size * 0.9f), kTicks.data(), true);
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
  fonts.body = AddFace(atlas, kRegular, size(1));
  fonts.small = AddFace(atlas, kRegular, size(0.875));
  fonts.bold = AddFace(atlas, kBold, size(1));
  fonts.title = AddFace(atlas, kBold, size(1.75));
  fonts.mono = AddFace(atlas, kMono, size(0.875));
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
