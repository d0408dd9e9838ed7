#include "analyzer/words/words.h"

#include <doctest/doctest.h>

#include <limits>

#include "tests/support/random.h"

using namespace stallscope::words;

TEST_SUITE("fast") {
  TEST_CASE("words: counts and plurals") {
    CHECK(Grouped(0) == "0");
    CHECK(Grouped(999) == "999");
    CHECK(Grouped(1'000) == "1,000");
    CHECK(Grouped(1'234'567) == "1,234,567");
    CHECK(Counted(1, "step") == "1 step");
    CHECK(Counted(0, "step") == "0 steps");
    CHECK(Counted(1'234, "step") == "1,234 steps");
    CHECK(Counted(2, "batch", "batches") == "2 batches");
    CHECK(Counted(1, "batch", "batches") == "1 batch");
  }

  TEST_CASE("words: numbers have three significant digits") {
    CHECK(Number(0) == "0");
    CHECK(Number(4) == "4");
    CHECK(Number(0.01234) == "0.0123");
    CHECK(Number(12.34) == "12.3");
    CHECK(Number(99.96) == "100");
    CHECK(Number(1234.5) == "1,234");
    CHECK(Number(-1234567) == "-1,234,567");
    CHECK(Number(1e12) == "1e+12");
    CHECK(Number(std::numeric_limits<double>::quiet_NaN()) == "-");
    CHECK(Rate(12.34) == "12.3/s");
    CHECK(Rate(1234.4) == "1,234/s");
    CHECK(Factor(1.8) == "1.80x");
  }

  TEST_CASE("words: percentages") {
    CHECK(Percent(0.4123) == "41.2%");
    CHECK(Percent(0.0012) == "0.1%");
    CHECK(Percent(-0.0001) == "0.0%");
    CHECK(Percent(1) == "100%");
    CHECK(Percent(2.5) == "250%");
    CHECK(Percent(1e12) == "1e+14%");
    CHECK(Percent(std::numeric_limits<double>::infinity()) == "-");
    CHECK(SignedPercent(0.129) == "+12.9%");
    CHECK(SignedPercent(-0.129) == "-12.9%");
    CHECK(SignedPercent(-0.0001) == "+0.0%");
    CHECK(PercentOrDash({}) == "-");
  }

  TEST_CASE("words: durations, short and exact") {
    CHECK(Duration(0) == "0 ns");
    CHECK(Duration(999) == "999 ns");
    CHECK(Duration(999.7) == "1.00 us");
    CHECK(Duration(1'000) == "1.00 us");
    CHECK(Duration(41'234) == "41.2 us");
    CHECK(Duration(412'345) == "412 us");
    CHECK(Duration(999'600) == "1.00 ms");
    CHECK(Duration(4'123'456) == "4.12 ms");
    CHECK(Duration(-4'123'456) == "-4.12 ms");
    CHECK(Duration(123'000'000'000) == "123 s");
    CHECK(Duration(12'000'000'000'000) == "12,000 s");
    CHECK(ExactNs(4'123'456) == "4,123,456 ns");
    CHECK(ExactNs(std::numeric_limits<int64_t>::min()) == "-9,223,372,036,854,775,808 ns");
    CHECK(BothNs(4'123'456) == "4.12 ms (4,123,456 ns)");
    CHECK(BothNs(12) == "12 ns");
  }

  TEST_CASE("words: a point on a timeline has as many digits as the step needs") {
    CHECK(TimeAt(1'500'000'000, 0, 100'000'000) == "1.5 s");
    CHECK(TimeAt(1'500'000'000, 0, 1'000'000'000) == "2 s");
    CHECK(TimeAt(1'234'567'000, 1'000'000'000, 1'000'000) == "235 ms");
    CHECK(TimeAt(1'000'001'500, 1'000'000'000, 100) == "1.5 us");
  }

  TEST_CASE("words: amounts of bytes are binary, rates decimal") {
    CHECK(Bytes(17) == "17 B");
    CHECK(Bytes(1023) == "1023 B");
    CHECK(Bytes(1536) == "1.50 KiB");
    CHECK(Bytes(12 << 20) == "12.0 MiB");
    CHECK(Bytes(~uint64_t{0}) == "16.0 EiB");
    CHECK(BytesOrDash({}) == "-");
    CHECK(BytesPerSecond(12.34e9) == "12.3 GB/s");
    CHECK(Flops(1.612e12) == "1.61 TFLOP");
  }

  TEST_CASE("words: wide characters take two columns, combining ones none") {
    CHECK(TextWidth("abc") == 3);
    CHECK(TextWidth("数据") == 4);
    CHECK(TextWidth("e\u0301") == 1);
    CHECK(CutTo("decode", 6) == "decode");
    CHECK(CutTo("decode", 5) == "deco…");
    CHECK(CutTo("d\u00e9code", 3) == "d\u00e9…");
    CHECK(CutTo("数据数据", 6) == "数据…");
    CHECK(CutTo("abc", 3) == "abc");
    CHECK(CutTo("abc", 0).empty());
    CHECK(CutTo("", 3).empty());
  }

  TEST_CASE("words: a path that is too long loses its beginning") {
    CHECK(EndOf("runs/trace.json", 15) == "runs/trace.json");
    CHECK(EndOf("runs/trace.json", 11) == "…trace.json");
    CHECK(EndOf("runs/trace.json", 1) == "…");
    CHECK(EndOf("runs/trace.json", 0).empty());
    // Wide characters count as two; one that would stick out goes.
    CHECK(EndOf("漢字漢字", 5) == "…漢字");
    CHECK(EndOf("漢字漢字", 4) == "…字");
  }

  TEST_CASE("words: text wraps at spaces, or anywhere if there are none") {
    CHECK(Wrapped("one two three", 8) == std::vector<std::string>{"one two", "three"});
    CHECK(Wrapped("one two three", 8, 2) == std::vector<std::string>{"one two", "  three"});
    CHECK(Wrapped("abcdefghij", 4) == std::vector<std::string>{"abcd", "efgh", "ij"});
    // A word that fits a line is never cut, only one that fits none.
    CHECK(Wrapped("a bcdefg", 6) == std::vector<std::string>{"a", "bcdefg"});
    CHECK(Wrapped("a bcdefgh", 6) == std::vector<std::string>{"a bcde", "fgh"});
    // Within a word too long for a line, where its parts meet.
    CHECK(Wrapped("RandomResizedCrop", 12) == std::vector<std::string>{"Random", "ResizedCrop"});
    CHECK(Wrapped("/home/user/train.py", 12) ==
          std::vector<std::string>{"/home/user/", "train.py"});
    CHECK(Wrapped("at my.long_name_here", 14) ==
          std::vector<std::string>{"at my.long_", "name_here"});
    // An underscore separates what it joins, not what it decorates.
    CHECK(Wrapped("Images.__getitem__", 12) == std::vector<std::string>{"Images.", "__getitem__"});
    CHECK(Wrapped("Images.__getitem__()", 17) ==
          std::vector<std::string>{"Images.", "__getitem__()"});
    CHECK(Wrapped("Images.get_item_now", 12) ==
          std::vector<std::string>{"Images.get_", "item_now"});
    // A line feed is no place to break: what follows would look like a line of ours.
    CHECK(Wrapped("a\nb \x1b[2J", 20) == std::vector<std::string>{"a?b ?[2J"});
    CHECK(Wrapped("", 8) == std::vector<std::string>{""});
  }

  TEST_CASE("words: lines of one kind are one, with their count and extremes") {
    using stallscope::words::Condensed;
    std::vector<std::string> lines{"other"};
    for (int rank = 0; rank < 46; ++rank) {
      lines.push_back("run/rank_" + std::to_string(rank) +
                      ".sst: " + std::to_string(3 + rank * 40) + " events were dropped in 1,0" +
                      std::to_string(10 + rank % 5) + " frames");
    }
    lines.push_back("last: 2 left");
    CHECK(Condensed(lines) ==
          std::vector<std::string>{"other",
                                   "run/rank_0.sst: 3 events were dropped in 1,010 frames (and 45 "
                                   "more of this kind: 3 to 1803, 1,010 to 1,014)",
                                   "last: 2 left"});
    CHECK(Condensed({"a: 1", "a: 2"}) == std::vector<std::string>{"a: 1", "a: 2"});
    CHECK(Condensed({"x", "x", "x"}) == std::vector<std::string>{"x (and 2 more of this kind)"});
    CHECK(Condensed({"r0: -5 us off", "r1: 7 us off", "r2: -20 us off"}) ==
          std::vector<std::string>{"r0: -5 us off (and 2 more of this kind: -20 to 7)"});
    CHECK(Condensed({}).empty());
    CHECK(stallscope::words::PlaceInCode("/u/train.py", 12) == "train.py:12");
    CHECK(stallscope::words::PlaceInCode("", 12).empty());
    CHECK(stallscope::words::WholePlace("/u/train.py", 12) == "/u/train.py:12");
    CHECK(stallscope::words::WholePlace("", 12).empty());
  }

  TEST_CASE("words: a kernel's name is what tells it from others") {
    using stallscope::words::KernelName;
    CHECK(KernelName("sgemm_32x32_nn") == "sgemm_32x32_nn");
    CHECK(KernelName("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor"
                     "<float>, std::array<char*, 1ul> >(int, float, std::array<char*, 1ul>)") ==
          "vectorized_elementwise_kernel<4, FillFunctor<float>, array<char*, 1ul>>");
    CHECK(KernelName("void at::native::elementwise<8, at::native::(anonymous namespace)::clamp("
                     "at::TensorIteratorBase&)::{lambda()#1}::operator()() const::{lambda(c10::"
                     "Half)#9}, 2>(int)") == "elementwise<8, clamp, 2>");
    CHECK(KernelName("void a::add<a::sum<float>::operator()(int)::{lambda(float)#1}, b<c>::D>()") ==
          "add<sum<float>, b<c>::D>");
    CHECK(KernelName("_ZN2at6native3addIfEEvPT_i") == "_ZN2at6native3addIfEEvPT_i");
    CHECK(KernelName("f(a::b") == "f");
    CHECK(KernelName("{x}") == "{x}");
    CHECK(KernelName("(x)") == "(x)");
    CHECK(KernelName("").empty());
  }

  TEST_CASE("words: no wrapped line is too wide, and no letter is lost") {
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
}
