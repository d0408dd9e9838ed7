#include <doctest/doctest.h>

#include <algorithm>

#include "tests/analyzer/findings/scenarios.h"

using stallscope::Apply;
using stallscope::findings::Bound;
using stallscope::test::AllScenarios;
using stallscope::test::CaseBuilder;
using stallscope::test::Fired;
using stallscope::test::Scenario;

TEST_SUITE("fast") {
  TEST_CASE("decode-crop: code for the crop that the spec has") {
    for (const Scenario& scenario : AllScenarios()) {
      if (scenario.id != "decode-crop") continue;
      CaseBuilder builder = Fired(scenario);
      if (!builder.with_spec) continue;
      for (auto& stage : builder.spec.stages) {
        auto* map = std::get_if<stallscope::MapSpec>(&stage.kind);
        if (map == nullptr) continue;
        for (std::string& op : map->ops) {
          if (op.find("crop") == 0 || op.find("random_resized_crop") == 0) {
            op = "random_resized_crop(128)";
          }
        }
      }
      const auto finding = builder.FindingOf("decode-crop");
      REQUIRE(finding.has_value());
      CHECK(finding->recommendation->code.dali.find("size=128") != std::string::npos);
    }
  }

  TEST_CASE("decode-crop: two maps become one, unless the rewrite cannot join them") {
    CaseBuilder b;
    b.Stall("decode", stallscope::attribution::Cause::kCpu, 0.5);
    const auto changed = [&] {
      const auto finding = b.FindingOf("decode-crop");
      REQUIRE(finding.has_value());
      CHECK(finding->text.find("random_resized_crop(224) in augment") != std::string::npos);
      CHECK(finding->recommendation->code.tf_data.find("one map") != std::string::npos);
      const auto applied = Apply(b.spec, finding->recommendation->patch);
      REQUIRE(applied.ok());
      CHECK(applied.value().rewrites.crop_aware_decode);
      CHECK(applied.value().rewrites.map_fusion);
      CaseBuilder after;
      after.spec = applied.value();
      return after.SpecOf<stallscope::MapSpec>("augment").parallelism;
    };
    CHECK(changed().value == 4);
    b.SpecOf<stallscope::MapSpec>("decode").parallelism = stallscope::Knob::Auto();
    CHECK(changed().value == 2);
    // One rewrite alone leaves the pictures whole.
    b.spec.rewrites.crop_aware_decode = true;
    changed();
    b.spec.rewrites.map_fusion = true;
    CHECK_FALSE(b.FindingOf("decode-crop").has_value());
    b.spec.rewrites = {};
    b.SpecOf<stallscope::MapSpec>("decode").deterministic = false;
    CHECK_FALSE(b.FindingOf("decode-crop").has_value());
  }

  TEST_CASE("decode-scaled: in two maps, the decode's changes") {
    CaseBuilder b;
    b.SpecOf<stallscope::MapSpec>("augment").ops = {"resize(64)"};
    b.ReadElements(200, 4, 100'000);
    b.Stall("decode", stallscope::attribution::Cause::kCpu, 0.5);
    const auto finding = b.FindingOf("decode-scaled");
    REQUIRE(finding.has_value());
    CHECK(finding->text.ends_with("only for augment to make them 64 pixels wide"));
    const auto changed = Apply(b.spec, finding->recommendation->patch);
    REQUIRE(changed.ok());
    const auto& ops = std::get<stallscope::MapSpec>(changed.value().stages[2].kind).ops;
    CHECK(ops == std::vector<std::string>{"decode_jpeg(scale=1/4)"});
    CHECK(changed.value().stages[3] == b.spec.stages[3]);
    CHECK(finding->recommendation->code.tf_data.find("ratio=4") != std::string::npos);
    CHECK(finding->recommendation->code.tf_data.find("crop") == std::string::npos);
  }

  TEST_CASE("narrow-dtype, device-preprocessing: stored pixels cross the link as bytes") {
    for (const auto format : {stallscope::SourceFormat::kHdf5, stallscope::SourceFormat::kRaw}) {
      CaseBuilder b;
      b.spec.stages.erase(b.spec.stages.begin() + 3);
      b.SpecOf<stallscope::SourceSpec>("read").format = format;
      b.SpecOf<stallscope::MapSpec>("decode").ops = {"normalize"};
      b.TakeStagesFromSpec();
      b.spec.transfer.dtype = stallscope::TransferDtype::kFloat32;
      b.ReadElements(200, 4, 148'400);
      b.CopyBatches(stallscope::trace::CopyMemory::kPinned, 19'000'000);
      CaseBuilder busy = b;
      busy.Stall("decode", stallscope::attribution::Cause::kCpu, 0.6);
      b.Spend(stallscope::attribution::Category::kTransfer, 0.4, Bound::kTransfer);
      for (const auto& finding :
           {b.FindingOf("narrow-dtype"), busy.FindingOf("device-preprocessing")}) {
        REQUIRE(finding.has_value());
        const auto changed = Apply(b.spec, finding->recommendation->patch);
        REQUIRE(changed.ok());
        CHECK(changed.value().transfer.dtype == stallscope::TransferDtype::kUint8);
        CHECK(std::get<stallscope::MapSpec>(changed.value().stages[2].kind).on ==
              stallscope::MapOn::kDevice);
      }
    }
  }
}
