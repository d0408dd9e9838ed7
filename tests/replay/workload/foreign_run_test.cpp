// Runs of other profilers', which bring no spec, no cores and often no samples.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "analyzer/attribution/attribution.h"
#include "analyzer/spec/spec_json.h"
#include "replay/workload/build_workload.h"
#include "replay/workload/change.h"
#include "replay/workload/foreign_spec.h"
#include "tests/replay/kineto_run.h"

using namespace stallscope;
using attribution::Attribute;
using replay::BuildWorkload;
using replay::Workload;
using test::KinetoOptions;
using test::KinetoRun;

namespace {

Workload BuiltFromKineto(const KinetoOptions& options) {
  const model::Run run = KinetoRun(options);
  auto workload = BuildWorkload(run, Attribute(run));
  REQUIRE_MESSAGE(workload.ok(), (workload.ok() ? "" : workload.error().Line()));
  return std::move(workload).value();
}

std::string UnpriceableBecause(const Workload& workload, const std::string& setting) {
  const auto changed = replay::WithSettings(workload, {setting});
  REQUIRE_MESSAGE(changed.ok(), (changed.ok() ? "" : changed.error().Line()));
  return changed.value().unpriceable;
}

bool Says(const std::vector<std::string>& lines, const std::string& words) {
  return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
    return line.find(words) != std::string::npos;
  });
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a step counts as one sample if its number of samples is unknown") {
    const Workload workload = BuiltFromKineto({});
    CHECK(workload.recorded->counts_steps);
    CHECK(workload.recorded->samples_per_s == doctest::Approx(250));
    CHECK(Says(workload.recorded->limits, "steps per second"));
    CHECK_FALSE(workload.recorded->cores_known);
    REQUIRE(workload.spec.stages.size() == 1);
    CHECK(workload.spec.stages[0].name == "DataLoader");
  }

  TEST_CASE("a loader that works in the trainer's thread costs what its fetches took") {
    const Workload workload = BuiltFromKineto({});
    CHECK(workload.recorded->unseen.empty());
    CHECK(workload.recorded->stages.at("DataLoader").mean_cpu_ns == doctest::Approx(3e6));
    CHECK(workload.recorded->trainer.device_cores == 1);
    CHECK(static_cast<double>(workload.recorded->trainer.compute.front().cpu_ns) ==
          doctest::Approx(1e6));
  }

  TEST_CASE("a loader in other processes is unpriced, and named with what would show it") {
    const Workload workload = BuiltFromKineto({.in_processes = true});
    REQUIRE(workload.recorded->unseen.size() == 1);
    const std::string why = UnpriceableBecause(workload, "DataLoader.parallelism=4");
    CHECK(why.find("DataLoader: ") == 0);
    CHECK(why.find("worker_init_fn") != std::string::npos);
    CHECK(why.find("num_workers=0") != std::string::npos);
    CHECK(Says(workload.recorded->limits, "num_workers=0"));
    // What waits for it is known from outside, and stays.
    CHECK(workload.recorded->stages.at("DataLoader").mean_blocked_ns == doctest::Approx(3e6));
    CHECK(UnpriceableBecause(workload, "trainer.steps=90").empty());
  }

  TEST_CASE("the way its trainer copies cannot be varied") {
    const std::string why =
        UnpriceableBecause(BuiltFromKineto({.on_device = true}), "transfer.overlap=true");
    CHECK(why.find("transfer: ") == 0);
    CHECK(why.find("record a few steps") != std::string::npos);
  }

  TEST_CASE("a run that shows no input at all has a stage of that name, unseen") {
    const Workload workload = BuiltFromKineto({.fetches = false, .on_device = true});
    REQUIRE(workload.spec.stages.size() == 1);
    CHECK(workload.spec.stages[0].name == "input");
    CHECK(UnpriceableBecause(workload, "input.parallelism=2").find("no input pipeline") !=
          std::string::npos);
  }

  TEST_CASE("a device's step is its kernels, its launches and what waits for both") {
    const Workload workload = BuiltFromKineto({.on_device = true});
    const replay::TrainerCosts& trainer = workload.recorded->trainer;
    CHECK(workload.spec.trainer.device == TrainerDevice::kCuda);
    CHECK(trainer.device_cores == 0);
    CHECK(trainer.kernels == 1);
    const double step = static_cast<double>(trainer.compute[5].cpu_ns) + trainer.issue_ns +
                        trainer.turn_ns + trainer.convert_ns;
    CHECK(step == doctest::Approx(1e6));
  }

  TEST_CASE("names that a spec does not take are changed, and its own words are left to it") {
    model::Run run = KinetoRun();
    run.stages[0].name = "transfer";
    CHECK(replay::SpecOfStages(run, Attribute(run)).spec.stages[0].name == "transfer_2");
    run.stages[0].name = std::string(300, 'x') + "/y";
    const std::string name = replay::SpecOfStages(run, Attribute(run)).spec.stages[0].name;
    CHECK(name.size() <= 64);
    run.stages[0].name = "Load Data";
    CHECK(replay::SpecOfStages(run, Attribute(run)).spec.stages[0].name == "Load_Data");
  }

  TEST_CASE("work side by side is unpriced without cores and CPU time") {
    model::Run run = KinetoRun({});
    const auto why = [&](bool prefetch) {
      auto workload = BuildWorkload(run, Attribute(run));
      REQUIRE(workload.ok());
      if (!prefetch) return UnpriceableBecause(workload.value(), "DataLoader.parallelism=7");
      const auto patch = ReadPatch(R"json([{"op": "insert", "after": "DataLoader", "stage":
          {"name": "ahead", "prefetch": {"buffer_size": 2}}}])json",
                                   "patch");
      return replay::WithPatch(workload.value(), patch.value()).value().unpriceable;
    };
    CHECK(why(false).find("DataLoader.parallelism: this trace does not say how many cores") == 0);
    CHECK(why(false).find("record a few steps with the change") != std::string::npos);
    CHECK(why(true).find("ahead: ") == 0);
    run.info.host.cores_online = 2;
    CHECK(why(false).find("on a core") != std::string::npos);
  }
}
