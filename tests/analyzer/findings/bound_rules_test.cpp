// The rules about what bounds a run that its input does not: its own work, or a slow rank.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/analyzer/findings/case_builder.h"

using stallscope::attribution::At;
using stallscope::attribution::Category;
using stallscope::findings::Bound;
using stallscope::test::CaseBuilder;

TEST_SUITE("fast") {
  TEST_CASE("compute-bound: batch size only if it is known") {
    CaseBuilder builder;
    const auto told = [&] {
      const auto finding = builder.FindingOf("compute-bound");
      return std::any_of(finding->evidence.begin(), finding->evidence.end(),
                         [](const auto& e) { return e.text.find("a step is 32 samples") == 0; });
    };
    CHECK(told());
    // Measured in steps, a step would be one sample.
    builder.attribution.throughput.reset();
    for (auto& step : builder.attribution.steps) step.samples = 0;
    builder.run.info.imported_from = "kineto";
    CHECK_FALSE(told());
  }

  TEST_CASE("compute-bound without a device: the host's time, and its waits for a core") {
    CaseBuilder builder;
    CHECK(builder.FindingOf("compute-bound")->text.starts_with("the device computes for 100%"));
    builder.attribution.devices.clear();
    builder.attribution.kernels.clear();
    builder.attribution.cpu.trainer_run_wait = 0.02;
    const std::string host = builder.FindingOf("compute-bound")->text;
    CHECK(host.starts_with("the trainer computes on the host"));
    CHECK(host.find("core") == std::string::npos);
    builder.attribution.cpu.trainer_run_wait = 0.3;
    const std::string waits = builder.FindingOf("compute-bound")->text;
    CHECK(waits.find("for up to 30.0% it is ready without a core") != std::string::npos);
    CHECK(waits.find("no change to the input makes this run faster") != std::string::npos);
    builder.attribution.cpu.taken_by_input = 0.25;
    const std::string taken = builder.FindingOf("compute-bound")->text;
    CHECK(taken.find("for 25.0% of step time the input has these cores") != std::string::npos);
    CHECK(taken.find("no change to the input") == std::string::npos);
    CHECK(taken.find("a faster input") == std::string::npos);
    builder.Spend(Category::kInputStall, 0.2, Bound::kCompute);
    const std::string both = builder.FindingOf("compute-bound")->text;
    CHECK(both.find("leave them to the trainer, and a faster input would make this run at most "
                    "1.25x as fast") != std::string::npos);
  }

  TEST_CASE("compute-bound: what the measured steps do not show") {
    CaseBuilder builder;
    const auto text = [&] { return builder.FindingOf("compute-bound")->text; };
    const std::string nothing = "no change to the input makes this run faster";
    CHECK(text().find(nothing) != std::string::npos);
    builder.attribution.beside = {{"evaluation", 5, 1, 0.4}};
    CHECK(text().find("these steps faster; evaluation takes 40.0% of the time") !=
          std::string::npos);
    builder.attribution.beside.clear();
    // 25 steps before the window, and it begins half of its own length behind the first.
    builder.attribution.window.warmup_steps = 25;
    builder.run.rows.steps.front().requested_ns =
        builder.attribution.window.start_ns - builder.attribution.window.ns() / 2;
    CHECK(text().find("the 25 steps before those, which count as warm-up, took ") !=
          std::string::npos);
    builder.run.rows.steps.front().requested_ns = builder.attribution.window.start_ns - 1;
    CHECK(text().find(nothing) != std::string::npos);
  }

  TEST_CASE("slow-rank: several of them, also where they are the most") {
    // What each waits for the others, of steps of 10 ms.
    const auto said = [](const std::vector<int64_t>& waits_ms) {
      CaseBuilder builder;
      for (size_t i = 0; i < builder.attribution.steps.size(); ++i) {
        auto& step = builder.attribution.steps[i];
        step.rank = static_cast<uint32_t>(i % waits_ms.size());
        step.ns[At(Category::kCommunication)] = waits_ms[step.rank] * 1'000'000;
      }
      const auto finding = builder.FindingOf("slow-rank");
      return finding.has_value() ? finding->text : "";
    };
    CHECK(said({4, 4, 0, 4}).starts_with("rank 2 takes 10.0 ms per step for its own work"));
    CHECK(said({4, 0, 4, 1, 4}).starts_with("ranks 1, 3 take up to 10.0 ms"));
    CHECK(said({0, 4, 0, 4, 0}).starts_with("ranks 0, 2, 4 take up to 10.0 ms"));
    CHECK(said({4, 0, 0, 0, 0}).empty());  // one is faster than all others
    CHECK(said({4, 4, 4, 4}).empty());
  }

  TEST_CASE("compute-bound: what a job's loop does behind its optimizer's step") {
    CaseBuilder builder;
    builder.attribution.devices.clear();
    builder.attribution.kernels.clear();
    builder.run.info.job.command = {"python", "train.py"};
    stallscope::attribution::StageUse trainer;
    trainer.stage = builder.IdOf("trainer");
    trainer.elements = CaseBuilder::kSteps;
    builder.attribution.stages.push_back(trainer);
    const auto told = [&](double utilization) {
      builder.attribution.stages.back().utilization = utilization;
      return builder.FindingOf("compute-bound")->text.find("comes after the optimizer's step") !=
             std::string::npos;
    };
    CHECK(told(0.2));
    CHECK_FALSE(told(0.97));
    builder.run.info.job = {};  // a pipeline's trainer does nothing else
    CHECK_FALSE(told(0.2));
  }

  TEST_CASE("compute-bound: a faster input is not ruled out where it waits") {
    CaseBuilder builder;
    builder.Spend(Category::kInputStall, 0.08, Bound::kCompute);
    const auto finding = builder.FindingOf("compute-bound");
    REQUIRE(finding.has_value());
    CHECK(finding->text.find("no change to the input") == std::string::npos);
    CHECK(finding->text.find("at most 1.09x as fast") != std::string::npos);
  }

  TEST_CASE("compute-bound: launching does not keep up where it takes a noticeable part") {
    using stallscope::attribution::Category;
    CaseBuilder builder;
    builder.attribution.idle.launch_queue_mean = 11;
    CHECK(builder.FindingOf("compute-bound")->text.find("launching keeps up") != std::string::npos);
    builder.Spend(Category::kLaunch, 0.099, Bound::kCompute);
    CHECK(builder.FindingOf("compute-bound")->text.find("launching keeps up") == std::string::npos);
  }
}
