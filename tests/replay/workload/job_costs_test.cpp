#include "replay/workload/job_costs.h"

#include <doctest/doctest.h>

#include <string>

#include "analyzer/model/loader.h"
#include "replay/workload/build_workload.h"
#include "tests/support/job_trace.h"
#include "tests/support/paths.h"

using stallscope::Result;
using stallscope::attribution::Attribute;
using stallscope::model::Run;
using stallscope::replay::BuildWorkload;
using stallscope::replay::JobCosts;
using stallscope::replay::Workload;
using stallscope::test::BuildJob;
using stallscope::test::JobShape;
using stallscope::test::ScratchDir;
using stallscope::test::TraceBuilder;

namespace {

Run RunOf(TraceBuilder& trace) {
  const ScratchDir dir;
  trace.Write(dir / "job.sst");
  auto run = stallscope::model::LoadTrace(dir / "job.sst");
  REQUIRE(run.ok());
  return std::move(run).value();
}

Result<Workload> Built(const JobShape& shape) {
  TraceBuilder trace;
  BuildJob(trace, shape);
  const Run run = RunOf(trace);
  return BuildWorkload(run, Attribute(run));
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("job costs: a batch's fetch, its transport on both sides, and the steps") {
    const auto built = Built({.workers = 2, .steps = 40});
    REQUIRE(built.ok());
    const Workload& workload = built.value();
    REQUIRE(workload.recorded->job != nullptr);
    const JobCosts& costs = *workload.recorded->job;
    CHECK(costs.loader.num_workers == 2);
    CHECK(costs.sends);
    REQUIRE(costs.batches.size() >= 30);
    const auto& batch = costs.batches[10];
    CHECK(batch.fetch.cpu_ns == doctest::Approx(3e6));
    // 27 ms off the CPU, but for the little that the worker waited for a core.
    CHECK(batch.fetch.blocked_ns == doctest::Approx(27e6).epsilon(0.1));
    CHECK(batch.send.cpu_ns + batch.send.blocked_ns == doctest::Approx(0.5e6).epsilon(0.1));
    CHECK(batch.receive.cpu_ns + batch.receive.blocked_ns == doctest::Approx(0.5e6).epsilon(0.1));
    CHECK(costs.batches[10].worker != costs.batches[11].worker);
    CHECK(costs.steps[5].cpu_ns + costs.steps[5].blocked_ns == doctest::Approx(8e6).epsilon(0.05));
    CHECK(costs.passes.empty());
    CHECK(costs.worker_bytes.has_value());
    CHECK(workload.recorded->trainer.batch == doctest::Approx(16));
  }

  TEST_CASE("job costs: what the trace does not hold is empty, and said") {
    TraceBuilder trace;
    BuildJob(trace, {.workers = 2, .steps = 40});
    Run run = RunOf(trace);
    run.loaders[0].info.settings_json = R"({"num_workers":0,"batch_size":16})";
    const auto attribution = Attribute(run);
    const auto built = BuildWorkload(run, attribution);
    REQUIRE(built.ok());
    CHECK_FALSE(built.value().recorded->job->sends);
    CHECK_FALSE(built.value().recorded->job->start.has_value());
    REQUIRE(built.value().recorded->limits.size() == 1);
    CHECK(built.value().recorded->limits[0].find("was not recorded") != std::string::npos);
  }

  TEST_CASE("job costs: steps that several loaders feed are not for this model") {
    TraceBuilder trace;
    BuildJob(trace, {.workers = 2, .steps = 40});
    Run run = RunOf(trace);
    run.loaders.push_back(run.loaders[0]);
    run.loaders[1].name = "loader2";
    run.loaders[1].steps = 40;
    CHECK_FALSE(BuildWorkload(run, Attribute(run)).ok());
    run.loaders[1].steps = 0;  // evaluation
    CHECK(BuildWorkload(run, Attribute(run)).ok());
  }
}
