#include "analyzer/base/lines.h"

#include <doctest/doctest.h>

#include <string_view>
#include <vector>

using stallscope::SplitLines;

TEST_SUITE("fast") {
  TEST_CASE("a line feed at the end begins no other line") {
    using Lines = std::vector<std::string_view>;
    CHECK(SplitLines("a\nb\n") == Lines{"a", "b"});
    CHECK(SplitLines("a\nb") == Lines{"a", "b"});
    CHECK(SplitLines("\n\na\r\n") == Lines{"", "", "a\r"});
    CHECK(SplitLines("").empty());
  }
}
