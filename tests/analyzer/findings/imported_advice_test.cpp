// Advice for runs without a spec: imported ones, and users' own loaders.
#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/analyzer/findings/scenarios.h"

using stallscope::findings::Finding;
using stallscope::test::AllScenarios;
using stallscope::test::CaseBuilder;
using stallscope::test::Scenario;

TEST_SUITE("fast") {
  TEST_CASE("map-parallelism without a spec: words and code") {
    CaseBuilder builder;
    builder.with_spec = false;
    builder.run.stages[2].kind = "ParallelMapV2";
    builder.Stall("decode", stallscope::attribution::Cause::kUnknown, 0.5);
    const auto finding = builder.FindingOf("map-parallelism");
    REQUIRE(finding.has_value());
    REQUIRE(finding->recommendation.has_value());
    CHECK(finding->recommendation->patch.changes.empty());
    CHECK(finding->recommendation->code.tf_data.starts_with(
        "ds = ds.map(decode, num_parallel_calls="));
    CHECK(finding->recommendation->code.pytorch.find("num_workers=") != std::string::npos);
  }

  TEST_CASE("imported run: patch to its stages, if known") {
    CaseBuilder builder;
    builder.run.info.imported_from = "xplane";
    builder.Stall("decode", stallscope::attribution::Cause::kUnknown, 0.5);
    stallscope::findings::Case c{builder.run, builder.attribution, builder.verdict, std::nullopt,
                                 builder.spec};
    const auto patch_of = [&](const std::string& id) {
      for (const Finding& finding : stallscope::findings::Find(c)) {
        if (finding.id == id) return finding.recommendation->patch;
      }
      return stallscope::Patch();
    };
    CHECK(patch_of("map-parallelism").changes.size() == 1);
    for (const Finding& finding : stallscope::findings::Find(c)) {
      if (finding.id != "map-parallelism") continue;
      CHECK(finding.recommendation->of_stages);  // the user has no spec to apply it to
    }
    // One whose name no spec has, has no knob.
    for (auto& stage : c.stages->stages) {
      if (stage.name == "decode") stage.name = "decode_2";
    }
    CHECK(patch_of("map-parallelism").changes.empty());
  }

  TEST_CASE("imported run: no number of workers for a stage that its framework tunes") {
    for (const bool tuned : {false, true}) {
      CAPTURE(tuned);
      CaseBuilder builder;
      builder.with_spec = false;
      builder.run.info.imported_from = "xplane";
      builder.run.stages[2].kind = "ParallelMapV2";
      builder.run.stages[2].tuned = tuned;
      builder.Stall("decode", stallscope::attribution::Cause::kUnknown, 0.5);
      CHECK(builder.FindingOf("map-parallelism").has_value() != tuned);
    }
  }

  TEST_CASE("DataLoader without workers: one finding") {
    CaseBuilder builder;
    builder.with_spec = false;
    builder.run.info.imported_from = "kineto";
    // The trainer's thread does its work, and no stage comes after it.
    const auto loader = builder.IdOf("read");
    builder.Stall("read", stallscope::attribution::Cause::kUnknown, 0.5);
    builder.run.stages.resize(1);
    builder.run.stages[0].kind = "dataloader";
    builder.attribution.stages = {builder.UseOf("read")};
    builder.attribution.stages[0].runs_in = stallscope::StageId::None();
    builder.run.tracks.clear();
    const auto says = [&](std::string_view id) {
      const std::vector<Finding> all = builder.Find(false);
      return std::any_of(all.begin(), all.end(), [&](const Finding& finding) {
        return finding.id == id && finding.stage == loader;
      });
    };
    CHECK(says("loader-workers"));
    CHECK_FALSE(says("prefetch"));
    builder.run.stages[0].kind = "generator";
    CHECK(says("prefetch"));
  }

  TEST_CASE("imported run: no gain of parallel work without cores and CPU time") {
    const auto advice = [](double cores, bool cpu_time) {
      CaseBuilder builder;
      builder.with_spec = false;
      builder.run.info.imported_from = "kineto";
      builder.Stall("decode", stallscope::attribution::Cause::kUnknown, 0.5);
      builder.attribution.cpu.cores = cores;
      if (!cpu_time) {
        for (auto& use : builder.attribution.stages) use.cpu_ns = 0;
      }
      const auto finding = builder.FindingOf("map-parallelism");
      REQUIRE(finding.has_value());
      REQUIRE(finding->recommendation.has_value());
      return *finding->recommendation;
    };
    CHECK(advice(8, true).gain.has_value());
    const auto cores = advice(0, true);
    CHECK_FALSE(cores.gain.has_value());
    CHECK(cores.unpriced.find("how many cores") != std::string::npos);
    CHECK(cores.unpriced.find("record") != std::string::npos);
    CHECK(cores.code.pytorch.find("os.cpu_count()") != std::string::npos);
    const auto cpu = advice(8, false);
    CHECK_FALSE(cpu.gain.has_value());
    CHECK(cpu.unpriced.find("on a core") != std::string::npos);
  }

  TEST_CASE("imported run: the trainer's CPU time does not show the work of the loader's threads") {
    CaseBuilder builder;
    builder.with_spec = false;
    builder.run.info.imported_from = "xplane";
    builder.Stall("decode", stallscope::attribution::Cause::kUnknown, 0.5);
    builder.attribution.cpu.cores = 8;
    for (auto& use : builder.attribution.stages) use.cpu_ns = 0;
    stallscope::attribution::StageUse trainer;
    trainer.stage = builder.IdOf("trainer");
    trainer.cpu_ns = 1'000'000;
    builder.attribution.stages.push_back(trainer);
    const auto finding = builder.FindingOf("map-parallelism");
    REQUIRE(finding.has_value());
    REQUIRE(finding->recommendation.has_value());
    CHECK_FALSE(finding->recommendation->gain.has_value());
  }

  TEST_CASE("imported run: a map that was fused with its batch works on elements") {
    const auto unit = [](double items_per_sample) -> std::string {
      CaseBuilder builder;
      builder.with_spec = false;
      builder.run.info.imported_from = "xplane";
      builder.run.stages[builder.IdOf("batch").value].kind = "MapAndBatch";
      builder.Stall("batch", stallscope::attribution::Cause::kBlocked, 0.5);
      builder.attribution.cpu.cores = 8;
      builder.UseOf("batch").items_per_sample = items_per_sample;
      const auto finding = builder.FindingOf("map-parallelism");
      REQUIRE(finding.has_value());
      const std::string& text = finding->evidence.front().text;
      return text.substr(text.rfind("per "));
    };
    CHECK(unit(1) == "per element");
    CHECK(unit(1.0 / CaseBuilder::kBatch) == "per batch");
  }

  TEST_CASE("imported run: no more workers than cores for work that may need one") {
    // The trainer could keep 8 workers busy.
    const auto workers = [](double cores, bool cpu_time) -> std::string {
      CaseBuilder builder;
      builder.with_spec = false;
      builder.run.info.imported_from = "xplane";
      builder.Stall("decode", stallscope::attribution::Cause::kUnknown, 0.8);
      builder.attribution.cpu.cores = cores;
      for (auto& use : builder.attribution.stages) use.cpu_ns = 0;
      if (cpu_time) builder.UseOf("decode").blocked_ns = builder.UseOf("decode").busy_ns;
      const auto finding = builder.FindingOf("map-parallelism");
      if (!finding.has_value() || !finding->recommendation.has_value()) return "none";
      return finding->recommendation->text;
    };
    CHECK(workers(4, false).find("give decode 4 workers") == 0);
    CHECK(workers(2, false) == "none");  // it has as many
    // Work that waits needs no core.
    const std::string waiting = workers(2, true);
    CHECK(waiting.find("give decode ") == 0);
    CHECK(waiting.find("give decode 2 ") == std::string::npos);
  }

  TEST_CASE("PyTorch's loader: the code sets nothing that the finding does not explain") {
    const std::vector<std::pair<std::string, std::string>> explained = {
        {"persistent_workers=", "keep the workers"},
        {"prefetch_factor=", "ahead"},
        {"pin_memory=", "pinned"},
        {"in_order=", "order"},
        {"drop_last=", "drop"},
        {"drop_remainder=", "drop"}};
    for (const Scenario& scenario : AllScenarios()) {
      CAPTURE(scenario.id);
      CaseBuilder builder;
      scenario.fires(builder);
      const auto finding = builder.FindingOf(scenario.id);
      if (!finding.has_value() || !finding->recommendation.has_value()) continue;
      const auto& advice = *finding->recommendation;
      for (const std::string* const all : {&advice.code.pytorch, &advice.code.tf_data}) {
        std::string text = finding->text + advice.text;
        std::string code;
        std::istringstream lines(*all);
        for (std::string line; std::getline(lines, line); code += "\n") {
          const size_t comment = std::min(line.find('#'), line.size());
          code += line.substr(0, comment);
          text += line.substr(comment);
        }
        for (const auto& [name, why] : explained) {
          const std::string setting = name;  // clang 14 captures no structured bindings
          CAPTURE(setting);
          if (code.find(setting) == std::string::npos) continue;
          CHECK(text.find(why) != std::string::npos);
        }
        // PyTorch raises ValueError for one that is set without workers.
        if (code.find("prefetch_factor=") != std::string::npos) {
          CHECK(code.find("max(num_workers, 1)") != std::string::npos);
        }
      }
    }
  }

  TEST_CASE("imported run: code names no function after a profiler's event") {
    CaseBuilder builder;
    builder.with_spec = false;
    builder.run.info.imported_from = "tensorflow";
    builder.run.stages[2].name = "Map";
    builder.run.stages[2].kind = "ParallelMapV2";
    builder.Stall("Map", stallscope::attribution::Cause::kUnknown, 0.5);
    const auto finding = builder.FindingOf("map-parallelism");
    REQUIRE(finding.has_value());
    CHECK(finding->recommendation->code.tf_data.starts_with("ds = ds.map(fn, "));
  }
}
