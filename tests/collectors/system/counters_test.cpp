#include "collectors/system/counters.h"

#include <doctest/doctest.h>

#include <set>
#include <vector>

#include "analyzer/base/file.h"
#include "collectors/system/text_scan.h"
#include "tests/support/paths.h"

using namespace stallscope::system;  // NOLINT(google-build-using-namespace)

namespace {

std::string ReadmeRow(const CounterRow& row) {
  const char* kind =
      row.kind == stallscope::system::CounterKind::kCumulative ? "cumulative" : "gauge";
  return std::string("| `") + row.name + "` | " + row.unit + " | " + kind + " | " + row.about +
         " |";
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("the README's table of counters is the code's") {
    const auto readme = stallscope::ReadWholeFile(
        stallscope::test::SourceDir() + "/collectors/system/README.md", 1 << 20);
    REQUIRE(readme.ok());
    std::vector<std::string> rows;
    std::string_view rest = readme.value();
    bool in_table = false;
    while (const auto line = TakeLine(rest)) {
      if (in_table && line->starts_with("| `")) rows.emplace_back(*line);
      if (*line == "## Counters") in_table = true;
    }
    std::vector<std::string> expected;
    for (const CounterRow& row : CounterTable()) expected.push_back(ReadmeRow(row));
    CHECK(rows.size() == expected.size());
    for (size_t i = 0; i < std::min(rows.size(), expected.size()); ++i)
      CHECK(rows[i] == expected[i]);
  }

  TEST_CASE("every row has a name of its own and a unit that is known") {
    const std::set<std::string> units = {"ns",      "bytes",   "count", "cores",
                                         "percent", "bytes/s", "MHz",   "W"};
    std::set<std::string> names;
    for (const CounterRow& row : CounterTable()) {
      CHECK(names.insert(row.name).second);
      CHECK(units.contains(row.unit));
      CHECK(FindCounter(CounterName(row, "7")) == &row);
    }
  }

  TEST_CASE("an instance takes the placeholder's place") {
    CHECK(CounterName(counter::kGpuPower, "3") == "gpu3.power");
    CHECK(CounterName(counter::kDiskReads, "nvme0n1") == "disk.nvme0n1.reads");
    CHECK(CounterName(counter::kMemoryRss, "") == "memory.rss");
  }

  TEST_CASE("a foreign name has no row") {
    for (const char* name :
         {"", "core.busy", "corex.busy", "core1.busyness", "disk..reads", "rss"}) {
      CHECK(FindCounter(name) == nullptr);
    }
  }
}
