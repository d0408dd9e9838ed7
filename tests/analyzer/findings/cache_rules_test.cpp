#include <doctest/doctest.h>

#include <algorithm>

#include "tests/analyzer/findings/scenarios.h"

using stallscope::Apply;
using stallscope::test::CaseBuilder;

TEST_SUITE("fast") {
  TEST_CASE("cache-place: from behind the repeat to behind the last work that repeats") {
    const auto stages = [](std::vector<stallscope::StageSpec> between) {
      CaseBuilder builder;
      auto& all = builder.spec.stages;
      const stallscope::StageSpec decode = all[2];
      all.erase(all.begin() + 1, all.begin() + 3);
      for (auto& stage : between) {
        if (stage.name == "decode") stage = decode;
      }
      all.insert(all.begin() + 1, between.begin(), between.end());
      builder.TakeStagesFromSpec();
      builder.Stall("decode", stallscope::attribution::Cause::kCpu, 0.5);
      const auto finding = builder.FindingOf("cache-place");
      if (!finding.has_value()) return std::string();
      const auto changed = Apply(builder.spec, finding->recommendation->patch);
      REQUIRE(changed.ok());
      std::string names;
      for (const auto& stage : changed.value().stages) names += stage.name + " ";
      return names;
    };
    const stallscope::StageSpec decode = {"decode", stallscope::MapSpec{}};
    const stallscope::StageSpec again = {"again", stallscope::RepeatSpec{0}};
    const stallscope::StageSpec twice = {"twice", stallscope::RepeatSpec{2}};
    const stallscope::StageSpec cache = {"cache", stallscope::CacheSpec{}};
    const std::string best = "read decode cache again augment batch prefetch ";
    CHECK(stages({decode, again, cache}) == best);
    CHECK(stages({again, decode, cache}) == best);
    CHECK(stages({again, cache, decode}) == best);
    CHECK(stages({decode, twice, cache}) == "read decode cache twice augment batch prefetch ");
    // The second pass over both is read from the cache.
    CHECK(stages({decode, twice, cache, again}).empty());
  }

  TEST_CASE("cache-place: what does not fit into memory goes to disk, and code repeats last") {
    const auto found = [](const char* op, const char* stalled, size_t elements) {
      CaseBuilder builder;
      auto& stages = builder.spec.stages;
      stages.insert(stages.begin() + 1, {"again", stallscope::RepeatSpec{0}});
      stages.insert(stages.begin() + 2, {"cache", stallscope::CacheSpec{}});
      builder.SpecOf<stallscope::MapSpec>("decode").ops = {op, "resize(224)"};
      builder.TakeStagesFromSpec();
      builder.ReadElements(elements, 4, 10'000, 2);
      auto& batch = builder.UseOf("batch");
      batch.bytes = batch.elements * CaseBuilder::kBatch * 150'000;
      builder.Stall(stalled, stallscope::attribution::Cause::kCpu, 0.5);
      const auto finding = builder.FindingOf("cache-place");
      REQUIRE(finding.has_value());
      const auto changed = Apply(builder.spec, finding->recommendation->patch);
      REQUIRE(changed.ok());
      for (const auto& stage : changed.value().stages) {
        const auto* const cache = std::get_if<stallscope::CacheSpec>(&stage.kind);
        if (cache != nullptr) return std::pair(cache->where, finding->recommendation->code.tf_data);
      }
      return std::pair(stallscope::CacheWhere::kMemory, std::string());
    };
    const auto small = found("decode_jpeg", "decode", 500);
    CHECK(small.first == stallscope::CacheWhere::kMemory);
    CHECK(small.second ==
          "ds = ds.map(decode, num_parallel_calls=tf.data.AUTOTUNE).cache().repeat()");
    CHECK(found("decode_jpeg", "decode", 100'000).first == stallscope::CacheWhere::kDisk);
    CHECK(found("flip", "read", 500).second == "ds = ds.cache().repeat()");
  }

  TEST_CASE("cache: room for what it keeps, whatever later ops leave of that") {
    const auto room = [](std::vector<std::string> later) {
      CaseBuilder b;
      b.spec.stages.insert(b.spec.stages.begin() + 1, {"repeat", stallscope::RepeatSpec{0}});
      b.SpecOf<stallscope::MapSpec>("decode").ops = {"decode_jpeg", "resize(512)"};
      b.SpecOf<stallscope::MapSpec>("augment").ops = std::move(later);
      b.TakeStagesFromSpec();
      b.ReadElements(100, 1, 100'000, 2);
      b.Stall("decode", stallscope::attribution::Cause::kCpu, 0.5);
      const auto finding = b.FindingOf("cache");
      REQUIRE(finding.has_value());
      const auto changed = Apply(b.spec, finding->recommendation->patch);
      REQUIRE(changed.ok());
      for (const auto& stage : changed.value().stages) {
        const auto* const cache = std::get_if<stallscope::CacheSpec>(&stage.kind);
        if (cache != nullptr) return cache->max_bytes;
      }
      return int64_t{0};
    };
    // 100 pictures of 512 x 512 x 3 bytes.
    CHECK(room({"flip"}) > 78'643'200);
    CHECK(room({"random_resized_crop(64)", "flip"}) == room({"flip"}));
    CHECK(room({"flip", "normalize"}) == room({"flip"}));
  }

  TEST_CASE("cache: evidence says what the run lacks, and nothing else") {
    CaseBuilder b;
    b.spec.stages.insert(b.spec.stages.begin() + 1, {"repeat", stallscope::RepeatSpec{0}});
    b.TakeStagesFromSpec();
    b.Stall("decode", stallscope::attribution::Cause::kCpu, 0.5);
    const auto evidence = [&] {
      const auto finding = b.FindingOf("cache");
      REQUIRE(finding.has_value());
      REQUIRE_FALSE(finding->evidence.empty());
      return finding->evidence[0].text;
    };
    const auto trained = static_cast<size_t>(CaseBuilder::kSteps * CaseBuilder::kBatch);
    b.ReadElements(trained, 1, 100'000);
    CHECK(evidence() == "the run ended within its first epoch");
    // 3.2 epochs of pictures, which have any size once they are decoded.
    b.run.rows.elements.clear();
    b.ReadElements(1'000, 1, 100'000, 3);
    CHECK(evidence() ==
          "an epoch has 1,000 elements, usually 681 MiB at this point; the trace does not show it");
    const auto max_bytes = [&] {
      const auto finding = b.FindingOf("cache");
      for (const auto& change : finding->recommendation->patch.changes) {
        const auto* insert = std::get_if<stallscope::InsertChange>(&change);
        const auto* cache =
            insert != nullptr ? std::get_if<stallscope::CacheSpec>(&insert->stage.kind) : nullptr;
        if (cache != nullptr) return cache->max_bytes;
      }
      return int64_t{0};
    };
    // 100,000 bytes of JPEG are about 238,000 pixels, here at most four times as many.
    CHECK(max_bytes() == doctest::Approx(4 * 1.25 * 1'000 * 3 * 100'000 / 0.42).epsilon(0.01));
  }

  TEST_CASE("cache: no price without a second epoch") {
    CaseBuilder b;
    b.spec.stages.insert(b.spec.stages.begin() + 1, {"repeat", stallscope::RepeatSpec{0}});
    b.TakeStagesFromSpec();
    b.Stall("decode", stallscope::attribution::Cause::kCpu, 0.5);
    const auto cache = [&] {
      const auto finding = b.FindingOf("cache");
      REQUIRE(finding.has_value());
      REQUIRE(finding->recommendation.has_value());
      return *finding->recommendation;
    };
    const auto trained = static_cast<size_t>(CaseBuilder::kSteps * CaseBuilder::kBatch);
    b.ReadElements(trained, 1, 100'000);
    CHECK_FALSE(cache().gain.has_value());
    CHECK(cache().unpriced.find("record several") != std::string::npos);
    b.run.rows.elements.clear();
    b.ReadElements(trained / 10, 1, 100'000, 10);
    REQUIRE(cache().gain.has_value());
    CHECK(cache().gain->predicted > 1.5);
  }
}
