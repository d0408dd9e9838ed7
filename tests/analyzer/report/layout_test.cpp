#include "analyzer/report/layout.h"

#include <doctest/doctest.h>

using namespace stallscope::report;

TEST_SUITE("fast") {
  TEST_CASE("a table fits, whatever is in it") {
    const std::string table = Table({{"name", "count"}, {std::string(300, 'x'), "12"}}, {1}, 40);
    CHECK(table ==
          "  name                             count\n  " + std::string(30, 'x') + "…     12\n");
  }
}
