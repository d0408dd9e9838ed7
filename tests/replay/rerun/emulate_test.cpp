// What an emulation costs, and what it leaves out.
#include "replay/rerun/emulate.h"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "analyzer/spec/knobs.h"
#include "analyzer/spec/ops.h"
#include "analyzer/spec/spec_json.h"

using namespace stallscope;
using replay::CostStairs;

namespace {

double MeanOfStairs(const std::vector<double>& stairs) {
  double mean = 0;
  for (size_t k = 0; k < stairs.size(); ++k) mean += std::ldexp(stairs[k], -static_cast<int>(k));
  return mean;
}

double Mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

replay::Recorded RecordedOf(const char* spec) {
  replay::Recorded recorded;
  auto read = ReadSpec(spec, "test");
  REQUIRE(read.ok());
  recorded.spec = std::move(read).value();
  recorded.steps = 10;
  recorded.trainer.batch = 4;
  recorded.trainer.sample_bytes = 400;
  return recorded;
}

constexpr const char* kFiles = R"~({"name": "gone", "stages": [
  {"name": "read", "source": {"format": "tfrecord", "files": ["/gone/*"], "parallelism": 3}},
  {"name": "keep", "filter": {"op": "min_bytes(7)"}},
  {"name": "store", "snapshot": {"path": "/gone/store"}},
  {"name": "decode", "map": {"ops": ["decode_jpeg", "resize(10)"], "parallelism": 2}},
  {"name": "late", "map": {"ops": ["normalize"], "on": "device"}},
  {"name": "batch", "batch": {"size": 4}}],
  "trainer": {"device": "host", "steps": 10}})~";

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("stairs keep the mean, and rise with the costs") {
    std::vector<double> us;
    for (int i = 0; i < 64; ++i) us.push_back(i == 0 ? 60'000 : 1'000);
    const auto stairs = CostStairs(us);
    CHECK(MeanOfStairs(stairs) == doctest::Approx(Mean(us)));
    CHECK(stairs.size() > 3);
    CHECK(stairs.front() == doctest::Approx(1'000).epsilon(0.1));
    std::vector<double> uniform;
    for (int i = 0; i < 1'000; ++i) uniform.push_back(i);
    CHECK(MeanOfStairs(CostStairs(uniform)) == doctest::Approx(Mean(uniform)));
  }

  TEST_CASE("equal costs are one step, no cost is no step, few items are their mean") {
    CHECK(CostStairs(std::vector<double>(100, 250.0)) == std::vector<double>{250.0});
    CHECK(CostStairs(std::vector<double>(100, 0.0)).empty());
    CHECK(CostStairs({}).empty());
    CHECK(CostStairs({1, 2, 6}) == std::vector<double>{3});
  }

  TEST_CASE("an emulation is valid, with the run's stages and knobs but none of its files") {
    replay::Recorded recorded = RecordedOf(kFiles);
    replay::StageCosts decode;
    for (int i = 0; i < 100; ++i) decode.items.push_back({1'000'000, 500'000, 250'000});
    recorded.stages["decode"] = decode;
    recorded.stages["keep"].kept = 0.25;
    recorded.trainer.compute.assign(10, replay::Cost{8'000'000, 0, 0});
    const auto made = replay::Emulate(recorded);
    REQUIRE(made.ok());
    const Spec& spec = made.value().spec;
    CHECK(GetKnob(spec, "read.parallelism").value() == "3");
    CHECK(GetKnob(spec, "read.format").value() == "synthetic");
    CHECK(GetKnob(spec, "read.bytes").value() == "100");  // 400 bytes of float32
    CHECK(GetKnob(spec, "decode.parallelism").value() == "2");
    CHECK(GetKnob(spec, "keep.op").value() == "keep_fraction(0.250000)");
    CHECK(std::get<MapSpec>(spec.stages[2].kind).ops ==
          std::vector<std::string>{"busy(1000.0)", "sleep(750.0)"});
    CHECK(spec.trainer.device == TrainerDevice::kEmulated);
    CHECK(spec.trainer.emulated.compute_us_per_sample == doctest::Approx(2'000));
    CHECK_FALSE(GetKnob(spec, "store.path").ok());
    CHECK_FALSE(GetKnob(spec, "late.ops").ok());
    CHECK(made.value().limits.size() == 3);
  }

  TEST_CASE("an emulated device keeps its own figures") {
    replay::Recorded recorded = RecordedOf(R"~({"stages": [
      {"name": "read", "source": {"format": "synthetic"}}, {"name": "batch", "batch": {"size": 4}}],
      "trainer": {"device": "emulated", "emulated": {"compute_us_per_batch": 77}}})~");
    const auto made = replay::Emulate(recorded);
    REQUIRE(made.ok());
    CHECK(made.value().spec.trainer.emulated.compute_us_per_batch == 77);
    CHECK(made.value().limits.empty());
  }
}
