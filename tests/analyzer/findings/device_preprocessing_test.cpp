// Which ops the device is to run, and where in the pipeline they end up.
#include <doctest/doctest.h>

#include <string>
#include <variant>
#include <vector>

#include "analyzer/plan/plan.h"
#include "analyzer/spec/spec_json.h"
#include "tests/analyzer/findings/case_builder.h"

using namespace stallscope;
using stallscope::test::CaseBuilder;

namespace {

// These stages between a source and a batch; the cores are what is short in `augment`.
void Take(CaseBuilder& builder, const std::string& stages) {
  const auto tail = ReadSpec(
      R"({"name": "tail", "stages": [{"name": "read", "source": {"format": "synthetic"}}, )" +
          stages + R"(, {"name": "batch", "batch": {"size": 32}}]})",
      "tail");
  REQUIRE_MESSAGE(tail.ok(), tail.error().Line());
  builder.spec.stages = tail.value().stages;
  builder.TakeStagesFromSpec();
  builder.Stall("augment", attribution::Cause::kCpu, 0.6);
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("device-preprocessing: the code has the ops that move") {
    const auto code = [](const std::vector<std::string>& ops) {
      CaseBuilder builder;
      builder.SpecOf<MapSpec>("augment").ops = ops;
      builder.Stall("augment", attribution::Cause::kCpuContention, 0.6);
      const auto finding = builder.FindingOf("device-preprocessing");
      REQUIRE(finding.has_value());
      return finding->recommendation->code;
    };
    const auto plain = code({"resize(64)", "normalize"});
    CHECK(plain.tf_data.find("Normalization") != std::string::npos);
    CHECK(plain.tf_data.find("Flip") == std::string::npos);
    CHECK(plain.tf_data.find("Resizing") == std::string::npos);  // it is what gives them one size
    CHECK(plain.pytorch.find("v2.Compose([v2.ToDtype") != std::string::npos);
    const auto flipped = code({"resize(64)", "flip"});
    CHECK(flipped.tf_data.find("RandomFlip(\"horizontal\"), model") != std::string::npos);
    CHECK(flipped.tf_data.find("Rescaling") == std::string::npos);
  }

  TEST_CASE("device-preprocessing: the maps whose ops move are named in a row") {
    CaseBuilder builder;
    Take(builder, R"json({"name": "augment", "map": {"ops": ["color_jitter"]}},
                         {"name": "mirror", "map": {"ops": ["flip"]}},
                         {"name": "norm", "map": {"ops": ["normalize"]}})json");
    const auto finding = builder.FindingOf("device-preprocessing");
    REQUIRE(finding.has_value());
    CHECK(finding->text.find("run augment, mirror and norm, while") != std::string::npos);
  }

  TEST_CASE("device-preprocessing: all that can move does, behind the last stage of the host") {
    // The stages of the changed pipeline, with a mark on those that the device runs.
    const auto moved = [](const std::string& stages) {
      CaseBuilder builder;
      Take(builder, stages);
      const auto finding = builder.FindingOf("device-preprocessing");
      if (!finding.has_value()) return std::string();
      const auto changed = Apply(builder.spec, finding->recommendation->patch);
      REQUIRE_MESSAGE(changed.ok(), changed.error().Line());
      CHECK(plan::Lower(changed.value()).ok());
      std::string way;
      for (const StageSpec& stage : changed.value().stages) {
        way += (way.empty() ? "" : " ") + stage.name;
        const auto* map = std::get_if<MapSpec>(&stage.kind);
        if (map != nullptr && map->on == MapOn::kDevice) way += "!";
      }
      return way;
    };
    const std::string augment =
        R"json({"name": "augment", "map": {"ops": ["color_jitter", "flip"]}})json";
    const std::string split = R"json({"name": "augment", "map": {"ops": ["busy(9)", "flip"]}})json";
    const std::string slow = R"json(, {"name": "slow", "map": {"ops": ["busy(9)"]}})json";
    const std::string norm = R"json(, {"name": "norm", "map": {"ops": ["normalize"]}})json";
    const std::string again = R"json(, {"name": "again", "repeat": {}})json";
    const std::string mix = R"json(, {"name": "mix", "shuffle": {"buffer_size": 8}})json";
    const std::string kept = R"json(, {"name": "kept", "cache": {}})json";
    const std::string some = R"json(, {"name": "some", "filter": {"op": "min_bytes(9)"}})json";
    CHECK(moved(augment + norm) == "read augment! norm! batch");
    CHECK(moved(augment + again + norm) == "read again augment! norm! batch");
    CHECK(moved(augment + norm + mix) == "read mix augment! norm! batch");
    // A map may be split.
    CHECK(moved(split + norm + again) == "read augment again augment_device! norm! batch");
    // What the device can't run, keeps for a later epoch, or looks at ends what can move.
    CHECK(moved(augment + slow + norm).empty());
    CHECK(moved(augment + kept + norm).empty());
    CHECK(moved(augment + some + norm).empty());
  }
}
