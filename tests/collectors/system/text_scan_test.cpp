#include "collectors/system/proc_file.h"

#include <doctest/doctest.h>

#include <fstream>

#include "tests/support/paths.h"

using namespace stallscope::system;  // NOLINT(google-build-using-namespace)

TEST_SUITE("fast") {
  TEST_CASE("a text longer than the kernel returns at once is read whole") {
    const auto maps = ReadOnce("/proc/self/smaps");
    REQUIRE(maps.has_value());
    CHECK(maps->size() > 8192);
    CHECK(maps->find("[stack]") != std::string::npos);  // behind the program and its libraries
    CHECK(maps->ends_with('\n'));
    const stallscope::test::ScratchDir dir;
    const std::string path = dir / "long";
    const std::string text(100'001, 'x');
    std::ofstream(path) << text;
    CHECK(ReadOnce(path) == text);
    CHECK(ProcFile(path, 10).Read() == text.substr(0, 10));
    CHECK_FALSE(ReadOnce(dir / "missing").has_value());
  }

  TEST_CASE("a line counts only where its end is there") {
    std::string_view text = "one\n\ntwo";
    CHECK(TakeLine(text) == "one");
    CHECK(TakeLine(text) == "");
    CHECK_FALSE(TakeLine(text).has_value());
    CHECK(text == "two");
  }

  TEST_CASE("a number is whole digits that fit, or nothing is taken") {
    std::string_view text = "  12 18446744073709551615\t7";
    CHECK(TakeNumber(text) == 12u);
    CHECK(TakeNumber(text) == 18446744073709551615u);
    CHECK(TakeNumber(text) == 7u);
    CHECK_FALSE(TakeNumber(text).has_value());
    for (const char* bad : {"-1", "12kB", "max", "18446744073709551616", "1.5", ""}) {
      std::string_view rest = bad;
      CHECK_FALSE(TakeNumber(rest).has_value());
      CHECK(rest == bad);
    }
  }

  TEST_CASE("a key is found at the start of a line and only as a whole") {
    const std::string_view text = "read_bytes_x: 1\nxread_bytes: 2\nread_bytes: 3\nVmHWM:\t 4 kB\n";
    CHECK(FindNumber(text, "read_bytes") == 3u);
    CHECK(FindNumber(text, "VmHWM") == 4u);
    CHECK_FALSE(FindNumber(text, "VmSwap").has_value());
    CHECK_FALSE(FindNumber("VmHWM: 45", "VmHWM").has_value());  // cut off within the number
  }

  TEST_CASE("a text that is one number is recognized") {
    CHECK(OnlyNumber("4096\n") == 4096u);
    for (const char* bad : {"", "\n", "4096", "max\n", "-1\n", "1 2\n", "1\n2\n"}) {
      CHECK_FALSE(OnlyNumber(bad).has_value());
    }
  }

  TEST_CASE("lists of cores are counted and searched") {
    CHECK(ListSize("0-3,8,10-11\n") == 7u);
    CHECK(ListSize("0") == 1u);
    CHECK(ListSize("") == 0u);
    CHECK(ListHolds("0-3,8,10-11\n", 8));
    CHECK(ListHolds("0-3,8,10-11\n", 11));
    CHECK_FALSE(ListHolds("0-3,8,10-11\n", 9));
    for (const char* bad : {"x", "3-1", "1-", "1;2", "0-18446744073709551615", "-1"}) {
      CHECK_FALSE(ListSize(bad).has_value());
      CHECK_FALSE(ListHolds(bad, 7));
    }
  }
}
