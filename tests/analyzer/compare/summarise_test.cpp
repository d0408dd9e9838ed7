#include <doctest/doctest.h>

#include "analyzer/compare/compare.h"

using namespace stallscope;
using attribution::At;
using attribution::Attribution;
using attribution::Category;
using compare::RunSummary;
using compare::Summarise;

namespace {

model::Run RecordedRun() {
  model::Run run;
  run.path = "run.sst";
  run.info.name = "images";
  run.info.spec_json = "{}";
  run.info.digest = "00ff";
  run.info.host.name = "north";
  run.info.host.cores_allowed = 4;
  run.info.host.cgroup_cores = 1.5;
  run.info.device.kind = "emulated";
  run.info.device.name = "resnet50_a100";
  run.quality.sealed = true;
  run.stages.push_back({.id = StageId{0}, .name = "read"});
  run.stages.push_back({.id = StageId{1}, .name = "decode"});
  return run;
}

Attribution Attributed() {
  Attribution attribution;
  attribution.window.steps = 2;
  attribution.steps.resize(2);
  attribution.steps[0] = {.index = 3, .start_ns = 0, .end_ns = 10'000'000, .samples = 32};
  attribution.steps[0].ns[At(Category::kCompute)] = 10'000'000;
  attribution.steps[1] = {.index = 4, .start_ns = 10'000'000, .end_ns = 15'000'000, .samples = 8};
  attribution.steps[1].ns[At(Category::kInputStall)] = 5'000'000;
  attribution.breakdown[At(Category::kCompute)] = attribution::CategoryTotal{10'000'000};
  attribution.breakdown[At(Category::kInputStall)] = attribution::CategoryTotal{5'000'000};
  attribution.throughput = attribution::Throughput{2666, 2600, 2700};
  attribution.stages.resize(2);
  attribution.stages[0].stage = StageId{0};
  attribution.stages[1].stage = StageId{1};
  attribution.stages[1].elements = 40;
  attribution.stages[1].service_ns.mean = 250'000;
  attribution.stages[1].busy_ns = 10'000'000;
  attribution.stages[1].capacity_samples_per_s = 4000;
  return attribution;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a summary of a job has its loaders' settings and its ops") {
    model::Run run = RecordedRun();
    model::Loader loader;
    loader.name = "loader2";
    loader.info.settings_json = R"({"num_workers":2,"prefetch_factor":null,"sampler":"Random"})";
    run.loaders.push_back(loader);
    loader.info.settings_json = "[1";
    run.loaders.push_back(loader);
    Attribution attribution = Attributed();
    attribution.stages[1].ops = {{.name = "Resize", .count = 4, .ns = 8'000'000}};
    const RunSummary summary = Summarise(run, attribution);
    // A sampler is no knob, and what was not given has no value.
    CHECK(summary.settings == std::vector<SetChange>{{"loader2.num_workers", "2"}});
    CHECK(summary.stages[1].ops == std::vector<RunSummary::Op>{{"Resize", 2}});
  }

  TEST_CASE("a summary has the counted steps and the means of a run") {
    const RunSummary summary = Summarise(RecordedRun(), Attributed());
    CHECK(summary.trace == "run.sst");
    CHECK(summary.name == "images");
    CHECK(*summary.samples_per_s == 2666);
    CHECK(summary.step_ms == std::vector<double>{10, 5});
    CHECK(summary.samples == std::vector<uint32_t>{32, 8});
    CHECK(*summary.ms_per_step[At(Category::kCompute)] == 5);
    CHECK(*summary.ms_per_step[At(Category::kInputStall)] == 2.5);
    // What the trace cannot tell stays unknown.
    CHECK_FALSE(summary.ms_per_step[At(Category::kCommunication)].has_value());
    REQUIRE(summary.stages.size() == 2);
    CHECK(summary.stages[0].name == "read");
    CHECK_FALSE(summary.stages[0].service_ms.has_value());
    CHECK_FALSE(summary.stages[0].busy_ms_per_step.has_value());
    CHECK(*summary.stages[1].service_ms == 0.25);
    CHECK(*summary.stages[1].busy_ms_per_step == 5);
    CHECK(*summary.stages[1].capacity_samples_per_s == 4000);
    CHECK(summary.digest == "00ff");
    CHECK(summary.complete);
    CHECK(summary.cores_allowed == 1.5);
    CHECK(summary.host == "north");
    CHECK(summary.device_kind == "emulated");
    CHECK(summary.device_name == "resnet50_a100");
  }

  TEST_CASE("without counted steps the window's share is no step") {
    Attribution attribution = Attributed();
    attribution.window.steps = 0;
    attribution.steps.resize(1);
    attribution.throughput.reset();
    const RunSummary summary = Summarise(RecordedRun(), attribution);
    CHECK(summary.step_ms.empty());
    CHECK_FALSE(summary.samples_per_s.has_value());
    CHECK_FALSE(summary.ms_per_step[At(Category::kCompute)].has_value());
    CHECK(summary.stages[1].service_ms.has_value());
    CHECK_FALSE(summary.stages[1].busy_ms_per_step.has_value());
  }

  TEST_CASE("lost data and the quota show") {
    model::Run run = RecordedRun();
    run.quality.dropped = 1;
    run.info.host.cgroup_cores = 8;
    const RunSummary summary = Summarise(run, Attributed());
    CHECK_FALSE(summary.complete);
    CHECK(summary.cores_allowed == 4);
    run.info.host.cores_allowed = 0;
    CHECK(Summarise(run, Attributed()).cores_allowed == 8);
    run.info.host.cgroup_cores = 0;
    CHECK(Summarise(run, Attributed()).cores_allowed == 0);
  }
}
