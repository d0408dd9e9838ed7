// A profiler beside this one sees each stage's work under the stage's name.
#include "collectors/pipeline/stage_ranges.h"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "analyzer/spec/spec_json.h"
#include "collectors/pipeline/pipeline.h"

namespace stallscope {
namespace {

constexpr const char* kSpec = R"json({"stages": [
  {"name": "read", "source": {"format": "synthetic", "elements": 10, "bytes": 4}},
  {"name": "work", "map": {"ops": ["busy(1)"]}},
  {"name": "group", "batch": {"size": 4}}]})json";

std::vector<std::string> open_ranges;
std::map<std::string, int> seen;

void Begin(const char* name) {
  open_ranges.emplace_back(name);
  ++seen[name];
}
void End() { open_ranges.pop_back(); }

void Run(const pipeline::StageRanges& ranges) {
  open_ranges.clear();
  seen.clear();
  const auto spec = ReadSpec(kSpec, "spec");
  REQUIRE(spec.ok());
  pipeline::PipelineOptions options;
  options.ranges = ranges;
  auto built = pipeline::Pipeline::Build(spec.value(), options);
  REQUIRE(built.ok());
  int batches = 0;
  for (;; ++batches) {
    auto batch = built.value()->Next();
    REQUIRE(batch.ok());
    if (!batch.value().has_value()) break;
  }
  CHECK(batches == 3);
}

TEST_SUITE("fast") {
  TEST_CASE("a map has a range for each element, a batch one for each batch, and all are closed") {
    Run({Begin, End});
    CHECK(open_ranges.empty());
    CHECK(seen == std::map<std::string, int>{{"group", 3}, {"work", 10}});
  }

  TEST_CASE("without a profiler there are none") {
    Run({});
    CHECK(seen.empty());
    const pipeline::RangeScope range({}, "nothing");
  }
}

}  // namespace
}  // namespace stallscope
