#include <doctest/doctest.h>

#include <algorithm>

#include "tests/analyzer/findings/scenarios.h"

using stallscope::Apply;
using stallscope::findings::Finding;
using stallscope::test::AllScenarios;
using stallscope::test::CaseBuilder;
using stallscope::test::Fired;
using stallscope::test::Scenario;

TEST_SUITE("fast") {
  TEST_CASE("sharding: behind all sources") {
    CaseBuilder builder;
    stallscope::StageSpec more = builder.spec.stages.front();
    more.name = "more";
    builder.spec.stages.insert(builder.spec.stages.begin() + 1, more);
    builder.TakeStagesFromSpec();
    builder.run.info.world_size = 2;
    const auto missing = builder.FindingOf("sharding");
    REQUIRE(missing.has_value());
    const auto changed = Apply(builder.spec, missing->recommendation->patch);
    REQUIRE(changed.ok());
    CHECK(changed.value().stages[2].name == "shard");
  }

  TEST_CASE("sharding: what pads an epoch is no shared data") {
    CaseBuilder builder;
    builder.run.info.world_size = 2;
    builder.ReadElements(200, 1, 100);
    for (size_t i = 0; i < 200; ++i) {
      stallscope::trace::Element element = builder.run.rows.elements[i];
      element.item.value |= uint64_t{1} << 48U;
      element.record += 190;
      builder.run.rows.elements.push_back(element);
    }
    CHECK_FALSE(builder.FindingOf("sharding").has_value());
    // The second was recorded for a shorter time.
    builder.run.rows.elements.resize(220);
    for (size_t i = 200; i < 220; ++i) builder.run.rows.elements[i].record -= 100;
    CHECK(builder.FindingOf("sharding").has_value());
  }

  TEST_CASE("sharding: of very many elements a part is compared") {
    CaseBuilder builder;
    builder.run.info.world_size = 2;
    for (const uint64_t rank : {0U, 1U}) {
      for (uint64_t i = 0; i < 200'000; ++i) {
        stallscope::trace::Element element;
        element.item = {rank << 48U | i};
        element.record = i;
        builder.run.rows.elements.push_back(element);
      }
    }
    const auto same = builder.FindingOf("sharding");
    REQUIRE(same.has_value());
    CHECK(same->share == doctest::Approx(0.5));
    for (auto& element : builder.run.rows.elements) {
      if (element.item.value >> 48U == 1) element.record += 200'000;
    }
    CHECK_FALSE(builder.FindingOf("sharding").has_value());
  }

  TEST_CASE("sharding: some of the ranks, which a shard for all would not help") {
    CaseBuilder builder;
    builder.run.info.world_size = 4;
    for (const uint64_t rank : {0U, 1U, 2U, 3U}) {
      for (uint64_t i = 0; i < 100; ++i) {
        stallscope::trace::Element element;
        element.item = {rank << 48U | i};
        element.record = (rank < 2 ? 0 : rank * 100) + i;
        builder.run.rows.elements.push_back(element);
      }
    }
    const auto some = builder.FindingOf("sharding");
    REQUIRE(some.has_value());
    CHECK(some->text == "2 of 4 ranks read the same data: nothing shards the input");
    CHECK(some->recommendation->patch.changes.empty());
  }

  TEST_CASE("sharding: a shard that is there is set, not inserted again") {
    const auto finding = [](std::string_view what) {
      for (const Scenario& scenario : AllScenarios()) {
        if (scenario.id == "sharding" && scenario.what == what) {
          return Fired(scenario).FindingOf("sharding");
        }
      }
      return std::optional<Finding>();
    };
    const auto same = finding("two ranks take the same shard");
    REQUIRE(same.has_value());
    CHECK(
        same->text ==
        "2 ranks read the same data, although shard divides it: its index is not each rank's own");
    CHECK(same->evidence.back().text == "shard: index 0 of 2 on rank 0");
    CHECK(same->recommendation->text == "set shard.index to the rank, in each rank's spec");
    CHECK(same->recommendation->patch.changes.empty());
    const auto one = finding("a shard of one divides nothing");
    REQUIRE(one.has_value());
    CHECK(one->text == "2 ranks read the same data: shard has a count of 1");
    CHECK(one->recommendation->text ==
          "set shard.count to 2, and set shard.index to the rank, in each rank's spec");
    CHECK(one->recommendation->patch.changes.empty());
  }
}
