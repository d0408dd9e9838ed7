#include "gui/views/text.h"

#include <doctest/doctest.h>

#include <initializer_list>
#include <string>

#include "gui/views/context.h"

using stallscope::session::Theme;
using stallscope::views::Context;
using stallscope::views::Cut;
using stallscope::views::WidthOf;

TEST_SUITE("fast") {
  TEST_CASE("text that fits is left alone, and what is cut fits") {
    Context context;
    context.Dress(Theme::kDark, 1);
    ImGui::GetIO().Fonts->Build();
    const ImFont& font = *context.look().fonts.body;
    const std::string text = "decode waits for input";
    CHECK(Cut(font, text, 1000) == text);
    CHECK(Cut(font, text, WidthOf(font, text)) == text);
    for (float width = 0; width < WidthOf(font, text); width += 3) {
      const std::string cut = Cut(font, text, width);
      CHECK(WidthOf(font, cut) <= width);
      CHECK(cut != text);
    }
    CHECK(Cut(font, text, 2).empty());
  }

  TEST_CASE("a cut never goes through a character") {
    Context context;
    context.Dress(Theme::kDark, 1);
    ImGui::GetIO().Fonts->Build();
    const ImFont& font = *context.look().fonts.body;
    const std::string text = "\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9";
    for (float width = 0; width < WidthOf(font, text); ++width) {
      const std::string cut = Cut(font, text, width);
      if (cut.empty()) continue;
      CHECK(cut.substr(cut.size() - 3) == "\xE2\x80\xA6");
      CHECK((cut.size() - 3) % 2 == 0);
    }
  }

  TEST_CASE("every sign that the window draws is in the font") {
    Context context;
    context.Dress(Theme::kDark, 1);
    ImGui::GetIO().Fonts->Build();
    for (const ImWchar sign : std::initializer_list<ImWchar>{0x00D7, 0x2026, 0x2190, 0x25BE, 0x25CF,
                                                             0x00B5, 0x00B1, 0x2264}) {
      CAPTURE(sign);
      CHECK(context.look().fonts.body->FindGlyphNoFallback(sign) != nullptr);
    }
  }
}
