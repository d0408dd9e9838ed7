#include "analyzer/report/layout.h"

#include <doctest/doctest.h>

#include <limits>

#include "tests/support/random.h"

using namespace stallscope::report;

TEST_SUITE("fast") {
  TEST_CASE("a path that is too long loses its beginning") {
    CHECK(EndOf("runs/trace.json", 15) == "runs/trace.json");
    CHECK(EndOf("runs/trace.json", 11) == "…trace.json");
    CHECK(EndOf("runs/trace.json", 1) == "…");
    CHECK(EndOf("runs/trace.json", 0).empty());
    // Wide characters count as two, and one that would stick out goes.
    CHECK(EndOf("漢字漢字", 5) == "…漢字");
    CHECK(EndOf("漢字漢字", 4) == "…字");
  }

  TEST_CASE("counts, bytes, times and numbers as people read them") {
    CHECK(Grouped(0) == "0");
    CHECK(Grouped(999) == "999");
    CHECK(Grouped(1'234'567) == "1,234,567");
    CHECK(ReadableBytes(1023) == "1023 B");
    CHECK(ReadableBytes(1536) == "1.5 KiB");
    CHECK(ReadableBytes(~uint64_t{0}) == "16.0 EiB");
    CHECK(ReadableNs(999) == "999 ns");
    CHECK(ReadableNs(1'500) == "1.5 us");
    CHECK(ReadableNs(17'500'000) == "17.5 ms");
    CHECK(ReadableNs(12'000'000'000'000) == "12,000.000 s");
    CHECK(ReadableNumber(0) == "0");
    CHECK(ReadableNumber(0.01234) == "0.0123");
    CHECK(ReadableNumber(12.34) == "12.3");
    CHECK(ReadableNumber(99.96) == "100");
    CHECK(ReadableNumber(1234.5) == "1,234");
    CHECK(ReadableNumber(-1234567) == "-1,234,567");
    CHECK(ReadableNumber(1e12) == "1e+12");
    CHECK(ReadableNumber(std::numeric_limits<double>::quiet_NaN()) == "-");
    CHECK(ReadablePercent(0.4123) == "41.2 %");
  }

  TEST_CASE("wide characters take two columns, combining ones none") {
    CHECK(TextWidth("abc") == 3);
    CHECK(TextWidth("数据") == 4);
    CHECK(TextWidth("e\u0301") == 1);
    CHECK(CutTo("abcdef", 4) == "abc…");
    CHECK(CutTo("数据数据", 6) == "数据…");
    CHECK(CutTo("abc", 3) == "abc");
    CHECK(CutTo("abc", 0).empty());
  }

  TEST_CASE("a text is broken at spaces, and where there are none anywhere") {
    CHECK(Wrapped("one two three", 8) == std::vector<std::string>{"one two", "three"});
    CHECK(Wrapped("one two three", 8, 2) == std::vector<std::string>{"one two", "  three"});
    CHECK(Wrapped("abcdefghij", 4) == std::vector<std::string>{"abcd", "efgh", "ij"});
    // A line feed is no place to break: what follows would look like a line of ours.
    CHECK(Wrapped("a\nb \x1b[2J", 20) == std::vector<std::string>{"a?b ?[2J"});
    CHECK(Wrapped("", 8) == std::vector<std::string>{""});
  }

  TEST_CASE("no line of any text is wider than asked, and no letter is lost") {
    stallscope::test::Random random(5);
    for (int round = 0; round < 500; ++round) {
      std::string text;
      std::string letters;
      for (uint64_t i = random.Below(120); i > 0; --i) {
        const char* pieces[] = {"a", "数", " ", "e\u0301", "  ", "bc", "…"};
        const std::string piece = pieces[random.Below(7)];
        text += piece;
        if (piece.find(' ') == std::string::npos) letters += piece;
      }
      const size_t width = 4 + random.Below(30);
      std::string got;
      for (std::string line : Wrapped(text, width, random.Below(3))) {
        CHECK(TextWidth(line) <= width);
        std::erase(line, ' ');
        got += line;
      }
      CHECK(got == letters);
      CHECK(TextWidth(CutTo(text, width)) <= width);
    }
  }

  TEST_CASE("a table fits, whatever is in it") {
    const std::string table = Table({{"name", "count"}, {std::string(300, 'x'), "12"}}, {1}, 40);
    CHECK(table ==
          "  name                             count\n  " + std::string(30, 'x') + "…     12\n");
  }
}
