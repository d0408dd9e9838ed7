#include "analyzer/findings/advice/advice.h"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

#include "analyzer/findings/advice/framework.h"
#include "analyzer/findings/rules/rules.h"

using stallscope::findings::AllRules;
using stallscope::findings::Code;
using stallscope::findings::RuleEntry;
using stallscope::findings::advice::CodeFor;
using stallscope::findings::advice::Line;
namespace advice = stallscope::findings::advice;

TEST_SUITE("fast") {
  TEST_CASE("each line of advice is a rule's") {
    std::set<std::string_view> ids;
    for (const RuleEntry& entry : AllRules()) ids.insert(entry.id);
    for (const auto table :
         {advice::TfData(), advice::Pytorch(), advice::Dali(), advice::Grain()}) {
      std::set<std::string_view> seen;
      for (const Line& line : table) {
        CAPTURE(line.id);
        CHECK(ids.count(line.id) == 1);
        CHECK(seen.insert(line.id).second);
        CHECK_FALSE(line.code.empty());
      }
    }
  }

  TEST_CASE("every technique has code in some framework") {
    // What lies outside of a pipeline's code has none.
    const std::set<std::string_view> without = {"slow-shard", "slow-rank",   "warm-up",
                                                "cpu-limit",  "memory-risk", "compute-bound",
                                                "balanced",   "inconclusive"};
    for (const RuleEntry& entry : AllRules()) {
      if (without.count(entry.id) == 1) continue;
      CAPTURE(entry.id);
      const Code code = CodeFor(entry.id, {"decode", "4"});
      CHECK_FALSE((code.tf_data + code.pytorch + code.dali + code.grain).empty());
    }
  }

  TEST_CASE("advice is in the words of the framework that wrote the trace") {
    const auto words = [](const std::string& format, const std::vector<std::string>& names) {
      stallscope::model::Run run;
      run.info.imported_from = format;
      run.strings = names;
      const Code code =
          advice::Only(CodeFor("map-parallelism", {"decode", "4"}), advice::FrameworksOf(run));
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

  TEST_CASE("names and values stand in the code") {
    CHECK(CodeFor("map-parallelism", {"decode", "4"}).tf_data ==
          "ds = ds.map(decode, num_parallel_calls=4)  # or tf.data.AUTOTUNE");
    CHECK(CodeFor("map-parallelism", {"my-stage", "4"}).tf_data.find("ds.map(my_stage,") !=
          std::string::npos);
    CHECK(CodeFor("no-such-rule", {"decode", "4"}).tf_data.empty());
  }
}
