// The code of every recommendation runs in its framework, and does what the advice says.
// STALLSCOPE_TENSORFLOW_PYTHON and STALLSCOPE_TORCH_PYTHON name Pythons with the framework; without
// the latter, Debian's torch is tried.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tests/analyzer/findings/scenarios.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/skip.h"

namespace {

using namespace stallscope;
using findings::Code;

// The advice of all cases, each text once.
std::string AllAdvice(const std::string Code::*framework) {
  nlohmann::json advice = nlohmann::json::array();
  std::set<std::string> seen;
  for (const test::Scenario& scenario : test::AllScenarios()) {
    test::CaseBuilder builder;
    scenario.fires(builder);
    for (const findings::Finding& finding : builder.Find(false)) {
      if (!finding.recommendation.has_value()) continue;
      const std::string& code = finding.recommendation->code.*framework;
      if (code.empty() || !seen.insert(finding.id + code).second) continue;
      advice.push_back({{"id", finding.id}, {"code", code}});
    }
  }
  return advice.dump();
}

void RunAll(const std::string& framework, const std::string Code::*code,
            const std::string& python) {
  if (python.empty()) return test::Skip("no Python is named that has " + framework);
  const test::ScratchDir dir;
  std::ofstream(dir / "advice.json") << AllAdvice(code);
  const auto done =
      test::RunProgram({python, test::SourceDir() + "/tests/analyzer/findings/advice_runs.py",
                        framework, dir / "advice.json"});
  if (done.exit_code == 77) return test::Skip(done.out);
  CHECK_MESSAGE(done.exit_code == 0, done.out << done.err);
  MESSAGE(done.out);
}

std::string Named(const char* variable, const char* otherwise) {
  const char* const python = std::getenv(variable);
  return python != nullptr && *python != '\0' ? python : otherwise;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("the code for tf.data runs, and makes the pipeline that the advice describes") {
    RunAll("tf.data", &Code::tf_data, Named("STALLSCOPE_TENSORFLOW_PYTHON", ""));
  }

  TEST_CASE("the code for PyTorch runs, and makes the loader that the advice describes") {
    RunAll("pytorch", &Code::pytorch, Named("STALLSCOPE_TORCH_PYTHON", "/usr/bin/python3"));
  }

  TEST_CASE("no advice names a default") {
    // As the frameworks document them.
    const std::set<std::string> defaults = {
        "map_and_batch_fusion = True",
        "autotune.enabled = True",
        "reshuffle_each_iteration=True",
        "num_packs=1)",  // Keras and torch: the scales that they start with
        "initial_scale=32768",
        "init_scale=65536",
        "prefetch_factor=2)",
        "weights_only=True",
        "num_workers=0",
        "persistent_workers=False",
        "pin_memory=False",
        "drop_last=False",
        "in_order=True",
        "prefetch_queue_depth=2)",
        "deterministic=True",
        "per_replica_buffer_size=1)"};
    for (const auto code : {&Code::tf_data, &Code::pytorch, &Code::dali, &Code::grain}) {
      const std::string all = AllAdvice(code);
      for (const std::string& text : defaults) {
        CHECK_MESSAGE(all.find(text) == std::string::npos, text);
      }
    }
  }
}
