#include "analyzer/importers/chrome/json.h"

#include <doctest/doctest.h>

#include <string>

#include "analyzer/importers/chrome/document.h"

using namespace stallscope::importers::chrome;
using stallscope::importers::chrome::NanosecondsOf;
using stallscope::importers::chrome::Unescaped;
using stallscope::importers::chrome::WholeNumber;

namespace {

std::string Places(const IndexedText& text) {
  std::string places;
  for (size_t i = 0; i < text.count; ++i) places += text.At(i);
  return places;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("both ways of finding structure agree") {
    const std::string text = R"({"a": [1, "x,{}", {"b": null}], "c\"d": -2.5e3})";
    Structure structure;
    const auto fast = structure.Index(text);
    REQUIRE(fast.has_value());
    const std::string places = Places(*fast);
    std::vector<uint32_t> index(fast->index, fast->index + fast->count);
    IndexedText slow;
    REQUIRE(structure.IndexOne(text, slow) == Structure::Found::kWhole);
    CHECK(Places(slow) == places);
    CHECK(std::vector<uint32_t>(slow.index, slow.index + slow.count) == index);
    CHECK(slow.size == text.size());
  }

  TEST_CASE("brackets may still be open, strings must not") {
    Structure structure;
    CHECK(structure.Index(R"([{"a": 1}, {"b":)").has_value());
    CHECK_FALSE(structure.Index(R"([{"a": "x)").has_value());
    CHECK_FALSE(structure.Index("{\"a\": \"x\ny\"}").has_value());
    CHECK_FALSE(structure.Index("{\"a\": \"\xff\"}").has_value());
  }

  TEST_CASE("one value is whole, cut or broken") {
    Structure structure;
    IndexedText one;
    using Found = Structure::Found;
    CHECK(structure.IndexOne("{\"a\": \"x\n\xff\"}, 7", one) == Found::kWhole);
    CHECK(one.size == 12);
    CHECK(structure.IndexOne("{\"a\": \"x", one) == Found::kCut);
    CHECK(structure.IndexOne("{\"a\": [1, 2", one) == Found::kCut);
    for (const char* text :
         {"{1: 2}", "{\"a\" 2}", "{\"a\": 1 2}", "[1,,2]", "{\"a\": 1, {", "[1}"}) {
      CAPTURE(text);
      CHECK(structure.IndexOne(text, one) == Found::kBroken);
    }
    CHECK(structure.IndexOne(std::string(100, '[') + std::string(100, ']'), one) == Found::kBroken);
  }

  TEST_CASE("an event's fields are found in any order") {
    Structure structure;
    const std::string text =
        R"({"args": {"stream": 7, "list": [1, {"x": 2}]}, "dur": 1.5, "pid": "p", "ph" : "X" ,)"
        R"( "name": "a\"b", "ts": 12 , "tid": 3, "cat": "Kernel"})";
    const auto index = structure.Index(text);
    REQUIRE(index.has_value());
    size_t at = 0;
    Event event;
    REQUIRE(ParseEvent(*index, at, event) == Parsed::kWhole);
    CHECK(at == index->count);
    CHECK(event.phase == "X");
    CHECK(event.category == "Kernel");
    CHECK(event.name == R"(a\"b)");
    CHECK(event.process == "p");
    CHECK(event.thread == "3");
    CHECK(event.time == "12");
    CHECK(event.duration == "1.5");
    std::string keys;
    ForEachArgument(event, [&](std::string_view key, size_t place) {
      keys += std::string(key) + "@" + index->At(place) + " ";
    });
    CHECK(keys == "stream@7 list@[ ");
  }

  TEST_CASE("windows are cut where no string can be open") {
    const std::string text = R"([{"a": "},{\"b\":"}, {"c": 1})";
    CHECK(NextEvent(text, 1) == text.find("{\"c\""));
    CHECK(NextEvent(text, text.find("{\"c\"") + 1) == std::string::npos);
  }

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

  TEST_CASE("fractions of a nanosecond are rounded, halves up") {
    CHECK(NanosecondsOf("1.2344") == 1'234);
    CHECK(NanosecondsOf("1.2345") == 1'235);
    CHECK(NanosecondsOf("0.0004999999999999999999999") == 0);
    CHECK(NanosecondsOf("0.9999999999999999999999999") == 1'000);
  }

  TEST_CASE("an invalid time is nothing") {
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
