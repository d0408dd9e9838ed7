#include <doctest/doctest.h>

#include "analyzer/attribution/attribution.h"
#include "tests/analyzer/importers/xplane/read.h"
#include "tests/support/made_space.h"

using namespace stallscope;  // NOLINT(google-build-using-namespace)
using test::MadePlane;

namespace {

constexpr uint64_t kStepPs = 1'000'000'000;  // in picoseconds

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("Keras numbers what evaluate() does, too: that is no step") {
    for (const bool trains : {true, false}) {
      CAPTURE(trains);
      MadePlane host("/host:CPU");
      std::string events;
      for (uint64_t step = 0; step < 6; ++step) {
        const bool tests = step == 2 || step == 3;
        const char* const name = tests ? "test" : trains ? "train" : "batch";
        events += host.Event(name, step * kStepPs, kStepPs, host.Number("step_num", step));
      }
      host.Line(1, "python", 0, events);
      const auto run = test::ReadSpace(host.Bytes());
      REQUIRE(run.ok());
      CHECK(run.value().rows.steps.size() == (trains ? 4 : 6));
      const auto evaluated = attribution::Attribute(run.value()).beside;
      REQUIRE(evaluated.size() == (trains ? 1 : 0));
      if (trains) CHECK(evaluated[0].name == "evaluation");
    }
  }

  TEST_CASE("events with a number are steps, whatever their name") {
    MadePlane host("/host:CPU");
    host.Line(1, "python", 50,
              host.Event("my loop", 0, 9'000, host.Number("step_num", 7)) +
                  host.Event("my loop", 10'000, 9'000, host.Number("step_num", 8)) +
                  host.Event("my loop", 20'000, 9'000));
    const auto run = test::ReadSpace(host.Bytes());
    REQUIRE(run.ok());
    const auto& steps = run.value().rows.steps;
    REQUIRE(steps.size() == 2);
    CHECK(steps[0].index == 7);
    CHECK(steps[0].requested_ns == 50);
    CHECK(steps[1].requested_ns == 60);
    CHECK(steps[1].device_done_ns == 69);
  }

  TEST_CASE("without numbers, the calls of a recurring function are the steps") {
    MadePlane host("/host:CPU");
    std::string events = host.Event("PjitFunction(init)", 0, 900'000);  // it compiles
    for (uint64_t call = 0; call < 4; ++call) {
      const uint64_t at = 1'000'000 + call * 10'000;
      events += host.Event("PjitFunction(step)", at, 8'000);
      events += host.Event("PjitFunction(step)", at, 7'000);  // told twice
      events += host.Event("PjitFunction(log)", at + 8'500, 100);
    }
    host.Line(1, "python", 0, events);
    const auto run = test::ReadSpace(host.Bytes());
    REQUIRE(run.ok());
    REQUIRE(run.value().rows.steps.size() == 4);
    CHECK(run.value().rows.steps[1].requested_ns == 1'010);
    REQUIRE(!run.value().info.limits.empty());
    CHECK(run.value().info.limits[0].find("PjitFunction(step)") != std::string::npos);
  }

  TEST_CASE("two calls are not steps") {
    MadePlane host("/host:CPU");
    host.Line(1, "python", 0,
              host.Event("PjitFunction(f)", 0, 5) + host.Event("PjitFunction(f)", 10'000, 5));
    const auto run = test::ReadSpace(host.Bytes());
    REQUIRE(run.ok());
    CHECK(run.value().rows.steps.empty());
  }

  TEST_CASE("fetches of batches are the steps of an unmarked loop") {
    MadePlane host("/host:CPU");
    std::string events;
    for (uint64_t i = 0; i < 4; ++i) {
      events += host.Event("IteratorGetNextOp::DoCompute", i * 10'000, 2'000);
      events += host.Event("train_step", i * 10'000 + 2'000, 7'000,
                           host.Reference("tf_function_call", "notTraced-nonXla"));
    }
    host.Line(1, "python", 0, events);
    const auto run = test::ReadSpace(host.Bytes());
    REQUIRE(run.ok());
    REQUIRE(run.value().rows.steps.size() >= 3);
    CHECK(run.value().rows.steps[1].requested_ns == 10);
    CHECK(run.value().rows.steps[1].received_ns == 12);
  }

  TEST_CASE("compiled calls and eager ops are counted") {
    MadePlane host("/host:CPU");
    host.Line(
        1, "python", 0,
        host.Event("f", 0, 100, host.Reference("tf_function_call", "traced-nonXla")) +
            host.Event("f", 1'000, 10, host.Reference("tf_function_call", "notTraced-nonXla")) +
            host.Event("EagerExecute", 2'000, 5,
                       host.Reference("eager_op", "Add") + host.Number("is_func", 0)) +
            host.Event("EagerExecute", 3'000, 5,
                       host.Reference("eager_op", "f") + host.Number("is_func", 1)));
    const auto run = test::ReadSpace(host.Bytes());
    REQUIRE(run.ok());
    REQUIRE(run.value().counters.size() == 4);
    CHECK(run.value().counters[0].name == "eager ops");
    CHECK(run.value().counters[3].name == "compilations time");
    CHECK(run.value().rows.samples.size() == 4);
  }

  TEST_CASE("eager ops of a pipeline's thread are none of the step's") {
    const auto counts = [](const char* thread) {
      MadePlane host("/host:CPU");
      const std::string eager = host.Event(
          "EagerExecute", 14, 1, host.Reference("eager_op", "Add") + host.Number("is_func", 0));
      std::string step;
      for (uint64_t i = 0; i < 4; ++i) {
        step += host.Event("train_step", i * 10'000 + 2'000, 7'000,
                           host.Reference("tf_function_call", "notTraced-nonXla"));
      }
      const bool trains = thread == std::string("python");
      host.Line(1, "python", 0, trains ? step + eager : step);
      host.Line(2, "tf_data_private_threadpool", 0, trains ? "" : eager);
      const auto run = test::ReadSpace(host.Bytes());
      REQUIRE(run.ok());
      return run.value().counters.size();
    };
    CHECK(counts("python") == 2);
    CHECK(counts("tf_data_private_threadpool") == 0);
  }
}
