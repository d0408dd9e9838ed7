#include "analyzer/base/utf8.h"

#include <doctest/doctest.h>

#include <string>

using namespace stallscope;

TEST_SUITE("fast") {
  TEST_CASE("utf-8: every character is written and read back, surrogates are invalid") {
    int wrong = 0;
    for (char32_t code = 0; code <= 0x10ffff; ++code) {
      std::string text;
      AppendUtf8(code, text);
      const Character read = CharacterAt(text, 0);
      const bool surrogate = code >= 0xd800 && code <= 0xdfff;
      if (surrogate ? read.valid : !read.valid || read.code != code || read.bytes != text.size()) {
        ++wrong;
      }
    }
    CHECK(wrong == 0);
  }

  TEST_CASE("utf-8: an invalid byte stands alone") {
    for (const char* text : {"\x80", "\xff", "\xc3", "\xc0\xaf", "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf",
                             "\xf4\x90\x80\x80", "\xe6\x95", "\xc3("}) {
      const Character character = CharacterAt(text, 0);
      CHECK_FALSE(character.valid);
      CHECK(character.bytes == 1);
    }
  }

  TEST_CASE("utf-8: a walk over a text can stop early") {
    std::string pieces;
    ForEachCharacter("aß\xff数b", [&](const Character& character, std::string_view piece) {
      pieces += std::to_string(piece.size()) + (character.valid ? " " : "! ");
      return character.code != U'数';
    });
    CHECK(pieces == "1 2 1! 3 ");
  }
}
