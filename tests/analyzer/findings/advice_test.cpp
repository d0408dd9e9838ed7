#include "analyzer/findings/advice.h"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

#include "analyzer/findings/rules/rule.h"

using stallscope::findings::Advice;
using stallscope::findings::AllRules;
using stallscope::findings::Code;
using stallscope::findings::CodeOf;
using stallscope::findings::FrameworksOf;
using stallscope::findings::Only;
using stallscope::findings::Rule;

TEST_SUITE("fast") {
  TEST_CASE("each rule has its own id") {
    std::set<std::string_view> seen;
    for (const Rule* rule : AllRules()) {
      CAPTURE(rule->id);
      CHECK_FALSE(rule->id.empty());
      CHECK(seen.insert(rule->id).second);
    }
  }

  TEST_CASE("every technique has code in some framework") {
    // What lies outside of a pipeline's code has none.
    const std::set<std::string_view> without = {"slow-rank", "cpu-limit",    "compute-bound",
                                                "balanced",  "inconclusive", "what-would-help",
                                                "slow-op"};
    for (const Rule* rule : AllRules()) {
      CAPTURE(rule->id);
      const Code code = CodeOf(rule->advice, {"decode", "4"});
      const std::string all = code.tf_data + code.pytorch + code.dali + code.grain;
      CHECK(all.empty() == (without.count(rule->id) == 1));
    }
  }

  TEST_CASE("advice is for the framework that wrote the trace") {
    const auto words = [](const std::string& format, const std::vector<std::string>& names) {
      stallscope::model::Run run;
      run.info.imported_from = format;
      run.strings = names;
      const Code code = Only(CodeOf({"a", "b", "c", "d"}, {"decode", "4"}), FrameworksOf(run));
      std::string has;
      if (!code.tf_data.empty()) has += "tf ";
      if (!code.pytorch.empty()) has += "torch ";
      if (!code.dali.empty()) has += "dali ";
      if (!code.grain.empty()) has += "grain ";
      return has;
    };
    CHECK(words("", {}) == "tf torch dali grain ");  // our own
    CHECK(words("kineto", {"Iterator::Map"}) == "torch ");
    CHECK(words("tensorflow", {}) == "tf ");
    CHECK(words("xplane", {"matmul", "Iterator::Prefetch::Map"}) == "tf ");
    CHECK(words("xplane", {"PjitFunction(train_step)"}) == "grain ");
    // JAX that takes its batches from tf.data.
    CHECK(words("xplane", {"PjitFunction(f)", "Iterator::Map"}) == "tf grain ");
    CHECK(words("nsys", {"void at::native::vectorized_elementwise_kernel"}) == "torch ");
    CHECK(words("nsys", {"sgemm_128x64"}) == "tf torch dali grain ");  // nobody knows
  }

  TEST_CASE("a job's advice is for the libraries of its loaders") {
    const auto words = [](const std::vector<std::string>& kinds,
                          const std::vector<std::string>& used = {}) {
      stallscope::model::Run run;
      run.info.job.command = {"python", "train.py"};
      for (const std::string& name : used) run.info.job.frameworks.push_back({name, "1.0"});
      for (const std::string& kind : kinds) run.loaders.emplace_back().info.kind = kind;
      const auto found = FrameworksOf(run);
      return std::string(found.tf_data ? "tf " : "") + (found.pytorch ? "torch " : "") +
             (found.dali ? "dali " : "") + (found.grain ? "grain " : "");
    };
    CHECK(words({}) == "torch ");
    CHECK(words({"torch.utils.data.DataLoader"}) == "torch ");
    CHECK(words({"generator"}) == "torch ");
    CHECK(words({"tf.data.Dataset"}) == "tf ");
    CHECK(words({"grain._src.python.data_loader.DataLoaderIterator"}) == "grain ");
    CHECK(words({"nvidia.dali.plugin.jax.iterator.DALIGenericIterator", "tf.data.Dataset"}) ==
          "tf dali ");
    // One of the job's own feeds what it trains with.
    CHECK(words({"generator"}, {"jax"}) == "grain ");
    CHECK(words({}, {"jax"}) == "grain ");
    CHECK(words({"generator"}, {"tensorflow"}) == "tf ");
    CHECK(words({"generator"}, {"jax", "torch"}) == "torch ");
  }

  TEST_CASE("advice contains the stage's name and the value") {
    const Advice advice = {.tf_data = "ds.map({stage}, num_parallel_calls={value})  # {value}"};
    CHECK(CodeOf(advice, {"decode", "4"}).tf_data == "ds.map(decode, num_parallel_calls=4)  # 4");
    CHECK(CodeOf(advice, {"my-stage", "4"}).tf_data.starts_with("ds.map(my_stage,"));
    CHECK(CodeOf(advice, {"decode", "4"}).pytorch.empty());
  }
}
