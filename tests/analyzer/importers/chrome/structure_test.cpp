#include "analyzer/importers/chrome/structure.h"

#include <doctest/doctest.h>

#include <string>

#include "analyzer/importers/chrome/event.h"
#include "analyzer/importers/chrome/windows.h"

using namespace stallscope::importers::chrome;

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

  TEST_CASE("brackets may still be open, strings not") {
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
}
