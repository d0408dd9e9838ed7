#include "replay/workload/build_workload.h"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <utility>

#include "analyzer/attribution/attribution.h"
#include "tests/replay/made_run.h"

using stallscope::ErrorKind;
using stallscope::PrefetchSpec;
using stallscope::attribution::Attribute;
using stallscope::replay::BuildWorkload;
using stallscope::replay::StageCosts;
using stallscope::replay::Workload;
using stallscope::test::kMadeBatch;
using stallscope::test::MadeRunOptions;
using stallscope::test::MakeRun;
namespace model = stallscope::model;

namespace {

Workload Built(const model::Run& run) {
  auto workload = BuildWorkload(run, Attribute(run));
  REQUIRE_MESSAGE(workload.ok(), (workload.ok() ? "" : workload.error().Line()));
  return std::move(workload).value();
}

const StageCosts& CostsOf(const Workload& workload, const char* stage) {
  const auto found = workload.recorded->stages.find(stage);
  REQUIRE(found != workload.recorded->stages.end());
  return found->second;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("each stage has the costs of its items, divided by what they were") {
    const model::Run run = MakeRun();
    const Workload workload = Built(run);
    const StageCosts& fetch = CostsOf(workload, "fetch");
    CHECK(fetch.mean_cpu_ns == doctest::Approx(20'000));
    CHECK(fetch.mean_blocked_ns == doctest::Approx(980'000));
    CHECK(fetch.items.size() > 500);
    CHECK_FALSE(fetch.of_batches);
    const StageCosts& batch = CostsOf(workload, "batch");
    CHECK(batch.of_batches);
    CHECK(batch.mean_cpu_ns == doctest::Approx(10'000));
    CHECK(CostsOf(workload, "read").bytes == doctest::Approx(1024));
  }

  TEST_CASE("a step's other costs are those of its copies, kernels and issuing") {
    const Workload workload = Built(MakeRun());
    const auto& trainer = workload.recorded->trainer;
    CHECK(trainer.batch == kMadeBatch);
    REQUIRE_FALSE(trainer.compute.empty());
    CHECK(static_cast<double>(trainer.compute.front().cpu_ns) == doctest::Approx(8e6));
    CHECK(trainer.sample_bytes == doctest::Approx(1024));
    CHECK(trainer.host_sample_bytes == doctest::Approx(1024));
    CHECK(trainer.link_bytes_per_ns == doctest::Approx(1.6384));
    CHECK(trainer.issue_ns == doctest::Approx(40'000));
    CHECK(trainer.launches == 1);
  }

  TEST_CASE("what only a step with an update does is counted per update") {
    model::Run run = MakeRun();
    const std::string one = R"json("graph": "captured")json";
    std::string& spec = run.info.spec_json;
    spec.insert(spec.find(one), R"json("accumulate": 3, )json");
    run.strings.insert(run.strings.end(), {"sgd", "all_reduce"});
    const size_t steps = run.rows.kernels.size();
    for (size_t i = 2; i < steps; i += 3) {
      for (uint32_t k = 0; k < 2; ++k) {
        stallscope::trace::Kernel kernel = run.rows.kernels[i];
        kernel.name = stallscope::trace::StringId{2 + k};
        kernel.correlation += 1000 * (k + 1);
        kernel.start_ns = kernel.end_ns - 1'000 * (k + 1);
        run.rows.kernels.push_back(kernel);
      }
    }
    const Workload workload = Built(run);
    const auto& trainer = workload.recorded->trainer;
    CHECK(trainer.update_ns == doctest::Approx(1'000));
    CHECK(trainer.reduce_ns == doctest::Approx(2'000));
    CHECK(trainer.update_kernels == 2);
    CHECK(trainer.launches == doctest::Approx(1 + 2.0 / 3).epsilon(0.02));
    CHECK(trainer.kernels == doctest::Approx(1 + 2.0 / 3).epsilon(0.02));
  }

  TEST_CASE("the workload keeps the run's measurements") {
    const model::Run run = MakeRun();
    const auto attribution = Attribute(run);
    const Workload workload = Built(run);
    CHECK(workload.recorded->samples_per_s == attribution.throughput->samples_per_s);
    CHECK(workload.recorded->cores == 2);
    CHECK(workload.recorded->elements_per_epoch == 1'000'000);
    CHECK(workload.steps() == 60);
    CHECK(workload.spec == workload.recorded->spec);
  }

  TEST_CASE("a run without a spec gets one that has its stages") {
    MadeRunOptions options;
    options.with_spec = false;
    const Workload workload = Built(MakeRun(options));
    CHECK(workload.recorded->made_up_spec);
    REQUIRE(workload.spec.stages.size() == 4);
    CHECK(workload.spec.stages[1].name == "fetch");
    CHECK(std::get<PrefetchSpec>(workload.spec.stages[3].kind).buffer_size.value == 2);
    CHECK_FALSE(workload.recorded->limits.empty());
  }

  TEST_CASE("a run without steps cannot be predicted, and says so") {
    model::Run run = MakeRun();
    run.rows.steps.clear();
    const auto workload = BuildWorkload(run, Attribute(run));
    REQUIRE_FALSE(workload.ok());
    CHECK(workload.error().kind == ErrorKind::kInput);
    CHECK(workload.error().where == "made.sst");
  }

  TEST_CASE("nor can one whose stages' work was not recorded") {
    model::Run run = MakeRun();
    run.tracks[0].spans = {};
    CHECK_FALSE(BuildWorkload(run, Attribute(run)).ok());
  }

  TEST_CASE("nor one of several sources") {
    for (const char* join : {"", R"(, "join": "zip")"}) {
      CAPTURE(join);
      model::Run run = MakeRun();
      const std::string behind = R"json({"name": "fetch")json";
      run.info.spec_json.insert(
          run.info.spec_json.find(behind),
          R"({"name": "more", "source": {"format": "synthetic")" + std::string(join) + "}}, ");
      const auto workload = BuildWorkload(run, Attribute(run));
      REQUIRE_FALSE(workload.ok());
      CHECK(workload.error().Line().find("several sources") != std::string::npos);
    }
  }

  TEST_CASE("nor one of several ranks") {
    model::Run run = MakeRun();
    const auto attribution = Attribute(run);
    run.step_ranks.assign(run.rows.steps.size(), 0);
    CHECK_FALSE(BuildWorkload(run, attribution).ok());
  }

  TEST_CASE("what the tuner settled on is stored per knob") {
    model::Run run = MakeRun();
    run.strings = {"", "step", "fetch.parallelism", "1", "6"};
    run.rows.knobs.push_back({1, stallscope::trace::StringId{2}, stallscope::trace::StringId{3},
                              stallscope::trace::StringId{4}});
    CHECK(Built(run).recorded->tuned.at("fetch.parallelism") == 6);
  }

  TEST_CASE("handing over costs at most what the process burned outside of its stages' work") {
    const model::Run run = MakeRun({.fetch_cpu_us = 900, .compute_us = 32'000, .steps = 60});
    auto attribution = Attribute(run);
    const auto handover = [&](std::optional<double> busy_cores) {
      attribution.cpu.process_busy = busy_cores;
      auto workload = BuildWorkload(run, attribution);
      REQUIRE(workload.ok());
      return CostsOf(workload.value(), "prefetch").handover_ns;
    };
    const double gaps = handover(std::nullopt);
    CHECK(gaps > 0);
    CHECK(handover(2) == gaps);
    double worked = 0;
    for (const auto& use : attribution.stages) worked += static_cast<double>(use.cpu_ns);
    worked /= static_cast<double>(attribution.window.end_ns - attribution.window.start_ns);
    // On crowded cores a thread also loses its core between two spans.
    CHECK(handover(worked) == 0);
  }

  TEST_CASE("the first item after an idle time shows what a cold core costs") {
    // The input is made in half of a step: the first of 16 items follows a wait.
    const auto run_of = [](double first_factor) {
      model::Run run = MakeRun({.fetch_cpu_us = 900, .compute_us = 32'000, .steps = 60});
      auto& spans = run.tracks[0].spans;
      int64_t last_end = 0;
      for (size_t i = 0; i < spans.size(); ++i) {
        const bool fetch = spans.cpu_ns[i] > 0;
        const bool first = fetch && spans.start_ns[i] - last_end > 1'000'000;
        if (first) spans.cpu_ns[i] = static_cast<uint64_t>(900'000 * first_factor);
        if (spans.DurationNs(i) > 2'000) last_end = spans.EndNs(i);
      }
      return run;
    };
    const Workload cold = Built(run_of(1.1));
    const auto& effect = CostsOf(cold, "fetch").idle;
    CHECK(effect.shown);
    CHECK(effect.factor == doctest::Approx(1.1));
    CHECK(effect.share == doctest::Approx(1.0 / 16).epsilon(0.05));
    CHECK(CostsOf(cold, "fetch").mean_cpu_ns == doctest::Approx(900'000).epsilon(0.001));

    CHECK(CostsOf(Built(run_of(1)), "fetch").idle.factor == 1);
    // Too few steps: of items after an idle time there are not enough.
    const Workload few = Built(MakeRun({.fetch_cpu_us = 900, .compute_us = 32'000, .steps = 20}));
    CHECK_FALSE(CostsOf(few, "fetch").idle.shown);
    CHECK(CostsOf(few, "fetch").idle.share == doctest::Approx(1.0 / 16).epsilon(0.1));
  }
}
