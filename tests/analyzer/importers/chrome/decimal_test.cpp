#include "analyzer/importers/chrome/decimal.h"

#include <doctest/doctest.h>

#include "analyzer/importers/chrome/json_text.h"

using stallscope::importers::chrome::NanosecondsOf;
using stallscope::importers::chrome::Unescaped;
using stallscope::importers::chrome::WholeNumber;

TEST_SUITE("fast") {
  TEST_CASE("times are exact to the nanosecond") {
    CHECK(NanosecondsOf("0") == 0);
    CHECK(NanosecondsOf("1428625731896.179") == 1'428'625'731'896'179);
    // A double would make ...336 of it.
    CHECK(NanosecondsOf("1623143093496439.123") == 1'623'143'093'496'439'123);
    CHECK(NanosecondsOf("1623143093496439") == 1'623'143'093'496'439'000);
    CHECK(NanosecondsOf(".5") == 500);
    CHECK(NanosecondsOf("7.") == 7'000);
    CHECK(NanosecondsOf("-3.25") == -3'250);
    CHECK(NanosecondsOf("1.5e3") == 1'500'000);
    CHECK(NanosecondsOf("15E-1") == 1'500);
  }

  TEST_CASE("what is finer than a nanosecond is rounded, halves up") {
    CHECK(NanosecondsOf("1.2344") == 1'234);
    CHECK(NanosecondsOf("1.2345") == 1'235);
    CHECK(NanosecondsOf("0.0004999999999999999999999") == 0);
    CHECK(NanosecondsOf("0.9999999999999999999999999") == 1'000);
  }

  TEST_CASE("what is no time is nothing") {
    for (const char* text :
         {"", "-", ".", "1.2.3", "12a", "e5", "1e", "0x10", "nan", "null", "1e400",
          "99999999999999999999", "4611686018427387.904", "18446744073709551.6155"}) {
      CAPTURE(text);
      CHECK_FALSE(NanosecondsOf(text).has_value());
    }
    // The last one that is.
    CHECK(NanosecondsOf("4611686018427387.903") == 4'611'686'018'427'387'903);
    CHECK(NanosecondsOf("4611686018427387.9034999") == 4'611'686'018'427'387'903);
  }

  TEST_CASE("whole numbers may be written as decimals, and must fit") {
    CHECK(WholeNumber("19267584") == 19'267'584);
    CHECK(WholeNumber("7.0") == 7);
    CHECK(WholeNumber("18446744073709551610") == 18'446'744'073'709'551'610u);
    CHECK_FALSE(WholeNumber("-1").has_value());
    CHECK_FALSE(WholeNumber("184467440737095516100").has_value());
    CHECK_FALSE(WholeNumber("stream 7").has_value());
  }

  TEST_CASE("escapes mean what JSON says") {
    CHECK(Unescaped(R"(a\"b\\c\/d\n\t)") == "a\"b\\c/d\n\t");
    CHECK(Unescaped(R"(\u00e9\u20ac\ud83d\ude00)") == "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    // Half a pair, and what is no escape.
    CHECK(Unescaped(R"(\ud83d!)") == "\xef\xbf\xbd!");
    CHECK(Unescaped(R"(\u12g4\q\)") == R"(\u12g4\q\)");
  }
}
