#include "analyzer/spec/nearest.h"

#include <doctest/doctest.h>

using stallscope::EditDistance;
using stallscope::Nearest;
using stallscope::Quoted;
using stallscope::QuotedList;

TEST_SUITE("fast") {
  TEST_CASE("the distance counts letters added, dropped, changed and swapped") {
    CHECK(EditDistance("map", "map") == 0);
    CHECK(EditDistance("map", "MAP") == 0);
    CHECK(EditDistance("mp", "map") == 1);
    CHECK(EditDistance("maap", "map") == 1);
    CHECK(EditDistance("mup", "map") == 1);
    CHECK(EditDistance("amp", "map") == 1);
    CHECK(EditDistance("", "map") == 3);
    CHECK(EditDistance("kitten", "sitting") == 3);
  }

  TEST_CASE("the nearest word is found, the first among equals, and none in an empty list") {
    CHECK(Nearest("paralelism", {"pad", "parallelism", "path"}) == "parallelism");
    CHECK(Nearest("ab", {"ax", "ay"}) == "ax");
    CHECK(Nearest("x", {}).empty());
    CHECK(Nearest(std::string(1 << 20, 'm'), {"map", "shard"}) == "map");
  }

  TEST_CASE("only what is near is named, else all that is known") {
    using stallscope::Near;
    using stallscope::NearestHint;
    CHECK(Near("paralelism", {"pad", "parallelism"}) == "parallelism");
    CHECK(Near("pipeline", {"stages", "trainer"}).empty());
    CHECK(Near("zzzzzzzz", {}).empty());
    CHECK(NearestHint("mpa", {"map", "batch"}, "the nearest") == "the nearest is 'map'");
    CHECK(NearestHint("pipeline", {"map", "batch"}, "the nearest") ==
          "give one of 'map' or 'batch'");
    CHECK(NearestHint("pipeline", {"map"}, "the nearest") == "give 'map'");
  }

  TEST_CASE("quoting cuts a long word at a character boundary") {
    CHECK(Quoted("map") == "'map'");
    CHECK(Quoted(std::string(64, 'a')) == "'" + std::string(64, 'a') + "'");
    CHECK(Quoted(std::string(65, 'a')) == "'" + std::string(64, 'a') + "...'");
    CHECK(Quoted(std::string(63, 'a') + "\xC3\xA9") == "'" + std::string(63, 'a') + "...'");
  }

  TEST_CASE("a list of words reads as one") {
    CHECK(QuotedList({"a"}) == "'a'");
    CHECK(QuotedList({"a", "b", "c"}) == "'a', 'b' or 'c'");
  }
}
