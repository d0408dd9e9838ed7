#include "collectors/system/counters.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

using namespace stallscope::system;  // NOLINT(google-build-using-namespace)

TEST_SUITE("fast") {
  TEST_CASE("every row has a name of its own and a unit that is known") {
    const std::set<std::string> units = {"ns",      "bytes",   "count", "cores",
                                         "percent", "bytes/s", "MHz",   "W"};
    std::set<std::string> names;
    for (const CounterRow& row : kCounterTable) {
      CHECK(names.insert(row.name).second);
      CHECK(units.contains(row.unit));
      CHECK(FindCounter(CounterName(row, "7")) == &row);
    }
  }

  TEST_CASE("an instance takes the placeholder's place") {
    CHECK(CounterName(Row("gpu<n>.power"), "3") == "gpu3.power");
    CHECK(CounterName(Row("disk.<disk>.reads"), "nvme0n1") == "disk.nvme0n1.reads");
    CHECK(CounterName(Row("memory.rss"), "") == "memory.rss");
  }

  TEST_CASE("a foreign name has no row") {
    for (const char* name :
         {"", "core.busy", "corex.busy", "core1.busyness", "disk..reads", "rss"}) {
      CHECK(FindCounter(name) == nullptr);
    }
  }
}
