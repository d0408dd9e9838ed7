#include "gui/views/text.h"

#include <doctest/doctest.h>

#include <initializer_list>
#include <string>

#include "gui/views/look.h"

using stallscope::session::Theme;
using stallscope::views::Context;
using stallscope::views::Cut;
using stallscope::views::CutName;
using stallscope::views::Fitting;
using stallscope::views::InLines;
using stallscope::views::WidthOf;

TEST_SUITE("fast") {
  TEST_CASE("fitting text is unchanged, cut text fits") {
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

  TEST_CASE("names that begin alike differ where they are cut") {
    Context context;
    context.Dress(Theme::kDark, 1);
    ImGui::GetIO().Fonts->Build();
    const ImFont& font = *context.look().fonts.body;
    const std::string one = "thread 25738 (python), in detail";
    const std::string other = "thread 25738 (python)";
    const float width = WidthOf(font, other) * 0.9f;
    CHECK(CutName(font, one, width) != CutName(font, other, width));
    CHECK(CutName(font, one, width).ends_with("detail"));
    CHECK(CutName(font, one, 1000) == one);
    for (float room = 0; room < WidthOf(font, one); room += 3) {
      CHECK(WidthOf(font, CutName(font, one, room)) <= room);
    }
  }

  TEST_CASE("lines end at spaces and not within a number") {
    Context context;
    context.Dress(Theme::kDark, 1);
    ImGui::GetIO().Fonts->Build();
    const ImFont& font = *context.look().fonts.body;
    const std::string text = "with 3 workers busy 81.7% of the time,\nat train.py:12";
    for (float width = 0; width < WidthOf(font, text); width += 3) {
      const std::string lines = InLines(font, text, width);
      CHECK(lines.size() == text.size());
      size_t from = 0;
      for (size_t i = 0; i < text.size(); ++i) {
        CHECK((lines[i] == text[i] || (text[i] == ' ' && lines[i] == '\n')));
        if (lines[i] != '\n') continue;
        const std::string line = lines.substr(from, i - from);
        CHECK((WidthOf(font, line) <= width || line.find(' ') == std::string::npos));
        from = i + 1;
      }
    }
    CHECK(InLines(font, text, 1000) == text);
    CHECK(InLines(font, text, 60).find("81.7%") != std::string::npos);
  }

  TEST_CASE("a cut never splits a character") {
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

  TEST_CASE("a label is whole, brief or absent") {
    Context context;
    context.Dress(Theme::kDark, 1);
    ImGui::GetIO().Fonts->Build();
    const ImFont& font = *context.look().fonts.body;
    const auto wide = [&](const char* text) { return WidthOf(font, text); };
    CHECK(Fitting(font, "step 12", "12", wide("step 12")) == "step 12");
    CHECK(Fitting(font, "step 12", "12", wide("step 12") - 1) == "12");
    CHECK(Fitting(font, "step 12", "12", wide("12") - 1).empty());
    // A stump of a short name says nothing, the beginning of a long one does.
    CHECK(Fitting(font, "decode", "", wide("dec\xE2\x80\xA6")).empty());
    CHECK_FALSE(Fitting(font, "decode", "", wide("decod\xE2\x80\xA6")).empty());
    const char* const kernel = "volta_scudnn_128x64_relu_interior_nn_v1";
    CHECK(Fitting(font, kernel, "", wide("volta_scudnn\xE2\x80\xA6") + 1) ==
          "volta_scudnn\xE2\x80\xA6");
    CHECK(Fitting(font, kernel, "", wide("volt\xE2\x80\xA6")).empty());
    CHECK(Fitting(font, "x", "", 0).empty());
  }

  TEST_CASE("a very long text shows its start, in whole characters") {
    CHECK(stallscope::views::Beginning("abc", 3) == "abc");
    CHECK(stallscope::views::Beginning("abcd", 3) == "abc\xE2\x80\xA6");
    CHECK(stallscope::views::Beginning("ab\xC3\xA9z", 3) == "ab\xE2\x80\xA6");
    Context context;
    context.Dress(Theme::kDark, 1);
    ImGui::GetIO().Fonts->Build();
    const std::string cut = Cut(*context.look().fonts.body, std::string(1 << 20, 'x'), 1e6);
    CHECK(cut.size() < 10'000);
  }

  TEST_CASE("the font has every sign that the window draws") {
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
