#include "analyzer/findings/rules/rule.h"
#include "analyzer/model/job_spec.h"
#include "analyzer/spec/spec_json.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "tests/analyzer/findings/scenarios.h"

using stallscope::Apply;
using stallscope::findings::AllRules;
using stallscope::findings::Bound;
using stallscope::findings::Finding;
using stallscope::findings::Rule;
using stallscope::findings::Severity;
using stallscope::test::AllScenarios;
using stallscope::test::CaseBuilder;
using stallscope::test::Fired;
using stallscope::test::Scenario;

namespace {

std::string Ids(const std::vector<Finding>& findings) {
  std::string ids;
  for (const Finding& finding : findings) ids += finding.id + " ";
  return ids;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("every rule fires on its case") {
    for (const Scenario& scenario : AllScenarios()) {
      CAPTURE(scenario.id);
      CAPTURE(scenario.what);
      const CaseBuilder builder = Fired(scenario);
      const auto finding = builder.FindingOf(scenario.id);
      CHECK_MESSAGE(finding.has_value(), "only: " << Ids(builder.Find()));
      if (!finding.has_value()) continue;
      CHECK_FALSE(finding->text.empty());
    }
  }

  TEST_CASE("every rule is silent on its near miss") {
    for (const Scenario& scenario : AllScenarios()) {
      CAPTURE(scenario.id);
      CAPTURE(scenario.unless);
      CaseBuilder builder = Fired(scenario);
      scenario.near_miss(builder);
      const auto finding = builder.FindingOf(scenario.id);
      CHECK_MESSAGE(!finding.has_value(), (finding ? finding->text : ""));
    }
  }

  TEST_CASE("batch-size: samples only if the trace has them") {
    CaseBuilder builder;
    builder.Spend(stallscope::attribution::Category::kLaunch, 0.4, Bound::kLaunch);
    builder.with_spec = false;
    builder.run.info.imported_from = "kineto";
    const auto told = builder.FindingOf("batch-size");
    REQUIRE(told.has_value());
    CHECK(told->text.find("over 32 samples") != std::string::npos);
    CHECK(told->recommendation->text.find("of 64") != std::string::npos);
    for (auto& step : builder.attribution.steps) step.samples = 0;
    for (auto& step : builder.run.rows.steps) step.samples = 0;
    const auto untold = builder.FindingOf("batch-size");
    REQUIRE(untold.has_value());
    CHECK(untold->text.find("samples") == std::string::npos);
    CHECK(untold->recommendation->text.find("twice as large") != std::string::npos);
  }

  TEST_CASE("batch-size: no batch is larger than an epoch") {
    const auto size = [](size_t elements) {
      CaseBuilder builder;
      builder.Spend(stallscope::attribution::Category::kLaunch, 0.4, Bound::kLaunch);
      builder.ReadElements(elements, 1, 1000, 2);
      const auto found = builder.FindingOf("batch-size");
      if (!found.has_value()) return stallscope::Patch();
      return found->recommendation->patch;
    };
    const auto of = [](int64_t batch) {
      return stallscope::findings::Setting("batch.size", batch);
    };
    CHECK(size(100) == of(64));
    CHECK(size(64) == of(64));
    CHECK(size(63) == stallscope::Patch());
  }

  TEST_CASE("batch-size: larger batches of which fewer make an update teach the same") {
    CaseBuilder builder;
    builder.Spend(stallscope::attribution::Category::kLaunch, 0.4, Bound::kLaunch);
    builder.spec.trainer.accumulate = 8;
    const auto even = builder.FindingOf("batch-size");
    REQUIRE(even.has_value());
    const auto changed = stallscope::Apply(builder.spec, even->recommendation->patch);
    REQUIRE(changed.ok());
    const stallscope::Spec& larger = changed.value();
    const auto size = [](const stallscope::Spec& spec) {
      return std::get<stallscope::BatchSpec>(
                 spec.stages[stallscope::findings::FirstOf<stallscope::BatchSpec>(spec)].kind)
          .size;
    };
    CHECK(larger.trainer.accumulate < 8);
    CHECK(size(larger) * larger.trainer.accumulate == size(builder.spec) * 8);
    CHECK(even->recommendation->text.find("learning rate") == std::string::npos);
    builder.spec.trainer.accumulate = 3;
    const auto odd = builder.FindingOf("batch-size");
    REQUIRE(odd.has_value());
    CHECK(odd->recommendation->text.find("learning rate") != std::string::npos);
  }

  TEST_CASE("memory-risk: what grows may be a buffer or a cache that fills") {
    const auto grows = [](uint64_t buffer, int64_t max_bytes) {
      CaseBuilder builder;
      builder.spec.stages.insert(builder.spec.stages.begin() + 3,
                                 {"cache", stallscope::CacheSpec{.max_bytes = max_bytes}});
      builder.TakeStagesFromSpec();
      auto& memory = builder.attribution.memory;
      memory.peak_rss_bytes = uint64_t{4} << 30;
      memory.stages = {{builder.IdOf("shuffle"), buffer}, {builder.IdOf("cache"), 1'000'000}};
      builder.GrowMemory(1 << 30);
      return builder.FindingOf("memory-risk").has_value();
    };
    CHECK(grows(uint64_t{900} << 20, 0));
    CHECK_FALSE(grows(uint64_t{2} << 30, 0));
    CHECK_FALSE(grows(uint64_t{900} << 20, int64_t{1} << 30));
    CHECK(grows(uint64_t{900} << 20, int64_t{1} << 50));  // it does not fit
  }

  TEST_CASE("memory-risk: half of the batch, twice as many per update") {
    CaseBuilder builder;
    builder.spec.trainer.precision = stallscope::Precision::kBf16;
    builder.spec.trainer.accumulate = 2;
    builder.run.info.device.memory_bytes = 1'000'000;
    builder.attribution.memory.device_peak_bytes = 950'000;
    const auto full = builder.FindingOf("memory-risk");
    REQUIRE(full.has_value());
    const auto changed = stallscope::Apply(builder.spec, full->recommendation->patch);
    REQUIRE(changed.ok());
    CHECK(changed.value().trainer.accumulate == 4);
    CHECK(full->recommendation->text.find("accumulate gradients over 4") != std::string::npos);
  }

  TEST_CASE("loss-scale: of accumulated gradients, updates are discarded") {
    CaseBuilder builder;
    builder.spec.trainer.precision = stallscope::Precision::kFp16;
    builder.spec.trainer.accumulate = 4;
    for (size_t i = 3; i < 12; i += 4) builder.run.rows.steps[i].loss_scale_skipped = 1;
    const auto finding = builder.FindingOf("loss-scale");
    REQUIRE(finding.has_value());
    CHECK(finding->text.find("3 of 25 updates") != std::string::npos);
    CHECK(finding->text.find("up to 3 in a row") != std::string::npos);
  }

  TEST_CASE("loss-scale: the new one is below what overflowed, however far off that was") {
    const auto initial = [](double now, size_t discarded, size_t steps) {
      CaseBuilder builder;
      builder.spec.trainer.precision = stallscope::Precision::kFp16;
      builder.spec.trainer.loss_scale.initial = now;
      builder.run.rows.steps.resize(steps);
      for (size_t i = 0; i < discarded; ++i) builder.run.rows.steps[i].loss_scale_skipped = 1;
      const auto finding = builder.FindingOf("loss-scale");
      REQUIRE(finding.has_value());
      const auto changed = stallscope::Apply(builder.spec, finding->recommendation->patch);
      REQUIRE(changed.ok());
      return changed.value().trainer.loss_scale.initial;
    };
    CHECK(initial(65536, 3, 100) == 1024);
    CHECK(initial(65536 * 1024.0, 9, 100) == 65536);
    CHECK(initial(1e30, 40, 40) == 16384);  // how far, the run does not show
  }

  TEST_CASE("memory-risk: of batches that wait on the device, half as many") {
    CaseBuilder builder;
    builder.spec.trainer.precision = stallscope::Precision::kFp32;
    builder.run.info.device.memory_bytes = 1'000'000;
    builder.attribution.memory.device_peak_bytes = 950'000;
    builder.run.rows.copies.clear();
    stallscope::trace::Copy copy;
    copy.direction = stallscope::trace::CopyDirection::kHostToDevice;
    copy.batch = stallscope::ItemId{1};
    copy.bytes = 50'000;
    builder.run.rows.copies.push_back(copy);
    int64_t freed = 0;
    const auto text = [&](int64_t ahead) {
      builder.spec.transfer.prefetch_to_device = ahead;
      const auto full = builder.FindingOf("memory-risk");
      REQUIRE(full.has_value());
      freed = -full->recommendation->memory_bytes.value_or(0);
      return full->recommendation->text;
    };
    CHECK(text(16) == "copy only 8 batches ahead");
    CHECK(freed == 400'000);
    CHECK(text(2).starts_with("compute in bfloat16"));
    CHECK(freed == 425'000);  // half of what two batches leave
  }

  TEST_CASE("shuffle-buffer: what a shard leaves, and what one rank has read, may be all") {
    CaseBuilder builder;
    builder.SpecOf<stallscope::ShuffleSpec>("shuffle").buffer_size = 40;
    builder.run.rows.elements.assign(120, {});
    CHECK(builder.FindingOf("shuffle-buffer").has_value());
    for (size_t i = 0; i < 120; ++i) builder.run.rows.elements[i].item = {(i % 3) << 48 | i};
    CHECK_FALSE(builder.FindingOf("shuffle-buffer").has_value());
    for (size_t i = 0; i < 120; ++i) builder.run.rows.elements[i].item = {i};
    auto& stages = builder.spec.stages;
    stages.insert(stages.begin() + 1, {"shard", stallscope::ShardSpec{3, 0}});
    builder.TakeStagesFromSpec();
    CHECK_FALSE(builder.FindingOf("shuffle-buffer").has_value());
  }

  TEST_CASE("every rule has a case") {
    std::set<std::string_view> seen;
    for (const Scenario& scenario : AllScenarios()) seen.insert(scenario.id);
    for (const Rule* rule : AllRules()) {
      CAPTURE(rule->id);
      CHECK(seen.count(rule->id) == 1);
    }
  }

  TEST_CASE("every row of the checklist has a rule") {
    std::set<int> rows;
    for (const Rule* rule : AllRules()) rows.insert(rule->row);
    for (int row = 1; row <= 24; ++row) CHECK_MESSAGE(rows.count(row) == 1, "row " << row);
  }

  TEST_CASE("every patch applies to the spec") {
    for (const Scenario& scenario : AllScenarios()) {
      const CaseBuilder builder = Fired(scenario);
      for (const Finding& finding : builder.Find()) {
        if (!finding.recommendation.has_value()) continue;
        CAPTURE(scenario.id);
        CAPTURE(finding.id);
        const stallscope::Spec spec =
            stallscope::model::JobSpecOf(builder.run).value_or(builder.spec);
        const auto changed = Apply(spec, finding.recommendation->patch);
        CHECK_MESSAGE(changed.ok(), changed.error().Line());
        if (!changed.ok() || finding.recommendation->patch.changes.empty()) continue;
        CHECK_FALSE(changed.value() == spec);
      }
    }
  }

  TEST_CASE("every recommendation has a price or says what to record") {
    for (const Scenario& scenario : AllScenarios()) {
      for (const Finding& finding : Fired(scenario).Find()) {
        if (!finding.recommendation.has_value()) continue;
        CAPTURE(scenario.id);
        CAPTURE(finding.id);
        const auto& recommendation = *finding.recommendation;
        CHECK_FALSE(recommendation.text.empty());
        CHECK(recommendation.gain.has_value() == recommendation.unpriced.empty());
        if (!recommendation.gain.has_value()) continue;
        CHECK(recommendation.gain->low <= recommendation.gain->predicted);
        CHECK(recommendation.gain->predicted <= recommendation.gain->high);
        CHECK(recommendation.gain->low > 1);
      }
    }
  }

  TEST_CASE("a compute-bound run reports nothing else") {
    const std::vector<Finding> findings = CaseBuilder().Find();
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].id == "compute-bound");
    CHECK(findings[0].severity == Severity::kInfo);
    CHECK_FALSE(findings[0].recommendation.has_value());
  }

  TEST_CASE("balanced: nothing is worth changing") {
    CaseBuilder builder;
    for (const auto& name : {"decode", "augment", "read"}) {
      builder.Stall(name, stallscope::attribution::Cause::kCpu, 0.015);
    }
    builder.verdict.bound = Bound::kBalanced;
    const std::vector<Finding> findings = builder.Find();
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].text.starts_with("nothing is worth changing"));
  }

  TEST_CASE("balanced: shares that the trace does not show are not zero") {
    CaseBuilder builder;
    builder.Spend(stallscope::attribution::Category::kOther, 0.4, Bound::kBalanced);
    CHECK(builder.FindingOf("balanced")->text.find("communication 0.0%") != std::string::npos);
    using stallscope::attribution::At;
    using stallscope::attribution::Category;
    for (const Category category :
         {Category::kTransfer, Category::kLaunch, Category::kCommunication}) {
      builder.attribution.breakdown[At(category)].reset();
    }
    const std::string text = builder.FindingOf("balanced")->text;
    CHECK(text.ends_with(": compute 60.0%, input stall 0.0% of step time"));
  }

  TEST_CASE("balanced: time that the trace does not show") {
    for (const double unseen : {0.19, 0.97}) {
      CaseBuilder builder;
      builder.Spend(stallscope::attribution::Category::kOther, unseen, Bound::kBalanced);
      const auto finding = builder.FindingOf("balanced");
      REQUIRE(finding.has_value());
      CHECK(finding->text.starts_with(
          unseen < 0.2 ? "nothing is worth changing"
                       : "for 97.0% of step time this trace shows nothing at work"));
      builder.attribution.beside = {{"evaluation", 9, 1, 0.5}};
      CHECK(builder.FindingOf("balanced")
                ->text.starts_with(
                    "evaluation takes 50.0% of the time, and nothing else is worth changing"));
    }
  }

  TEST_CASE("launches: no advice for a few, between which the host works on something else") {
    for (const uint64_t launches : {41U, 39U}) {
      CaseBuilder builder;
      builder.with_spec = false;
      builder.Spend(stallscope::attribution::Category::kLaunch, 0.5, Bound::kLaunch);
      builder.attribution.idle.launch_ns = 20'000'000;
      builder.attribution.idle.launches = launches;
      builder.attribution.kernels = {{builder.Intern("add"), launches, 100'000, 1.0, false}};
      std::vector<std::string> ids;
      for (const auto& finding : builder.Find()) ids.push_back(finding.id);
      const auto at = [&](const char* id) { return std::find(ids.begin(), ids.end(), id); };
      const bool advised = launches == 41;
      for (const char* const id : {"kernel-fusion", "captured-graph", "batch-size"}) {
        CHECK((at(id) != ids.end()) == advised);
      }
      // A larger batch alters what is trained, so it comes behind those of its severity.
      if (advised) CHECK(at("captured-graph") < at("batch-size"));
    }
  }

  TEST_CASE("missing price: the reason fits the run") {
    CaseBuilder builder;
    builder.Stall("decode", stallscope::attribution::Cause::kCpu, 0.5);
    const auto why = [&] { return builder.FindingOf("map-parallelism")->recommendation->unpriced; };
    builder.attribution.throughput.reset();
    for (auto& step : builder.attribution.steps) step.samples = 0;
    CHECK(why().find("no steps") == std::string::npos);
    CHECK(why().find("samples") != std::string::npos);
    builder.attribution.window.steps = 0;
    CHECK(why().find("no steps") != std::string::npos);
  }

  TEST_CASE("empty run: only inconclusive") {
    const stallscope::model::Run run;
    const stallscope::attribution::Attribution attribution;
    stallscope::findings::Verdict verdict;
    verdict.bound = Bound::kInput;
    CHECK(stallscope::findings::Find({run, attribution, verdict, std::nullopt}).empty());
    verdict.bound = Bound::kInconclusive;
    const auto findings = stallscope::findings::Find({run, attribution, verdict, std::nullopt});
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].text.find("the trace has no steps") != std::string::npos);
  }

  TEST_CASE("a verdict comes with what to do about it, or why nothing can be") {
    using stallscope::attribution::Category;
    const auto advised = [](const CaseBuilder& builder) {
      const std::vector<Finding> findings = builder.Find();
      CAPTURE(Ids(findings));
      REQUIRE_FALSE(findings.empty());
      CHECK(findings[0].on_bound);
      return findings[0].id;
    };
    // The host is busy for 3 ms per launch, and a larger batch cannot be told to help.
    CaseBuilder launch;
    launch.with_spec = false;
    launch.Spend(Category::kLaunch, 0.19, Bound::kLaunch);
    launch.attribution.idle.launch_ns = 30'000'000;
    launch.attribution.idle.launches = 10;
    launch.attribution.throughput.reset();
    for (auto& step : launch.attribution.steps) step.samples = 0;
    CHECK(advised(launch) == "what-would-help");
    CaseBuilder read;
    read.with_spec = false;
    read.Stall("shuffle", stallscope::attribution::Cause::kCpu, 0.5);
    CHECK(advised(read) == "what-would-help");
    CaseBuilder reduces;
    reduces.Spend(Category::kCommunication, 0.3, Bound::kCommunication);
    CHECK(advised(reduces) != "what-would-help");
    CHECK(advised(CaseBuilder()) == "compute-bound");
  }

  TEST_CASE("balanced: two that are alike have their findings") {
    using stallscope::attribution::Category;
    CaseBuilder builder;
    builder.spec.trainer.graph = stallscope::GraphMode::kEager;
    builder.Spend(Category::kLaunch, 0.16, Bound::kBalanced);
    builder.Spend(Category::kCommunication, 0.18, Bound::kBalanced);
    CHECK(builder.FindingOf("captured-graph").has_value());
    CHECK(builder.FindingOf("strategy").has_value());
    CHECK(builder.FindingOf("balanced")->text.starts_with("no single thing bounds this run"));
  }

  TEST_CASE("copies: nothing is promised that no kernel could hide") {
    using stallscope::attribution::Category;
    CaseBuilder builder;
    builder.with_spec = false;
    builder.run.info.imported_from = "kineto";
    builder.Spend(Category::kTransfer, 0.99, Bound::kTransfer);
    builder.Spend(Category::kOther, 0.01, Bound::kTransfer);
    builder.CopyBatches(stallscope::trace::CopyMemory::kPinned, 19'000'000);
    CHECK_FALSE(builder.FindingOf("copy-overlap").has_value());
    const auto last = builder.FindingOf("what-would-help");
    REQUIRE(last.has_value());
    CHECK(last->text.find("no kernel runs for copies to hide behind") != std::string::npos);
    CHECK(last->text.find("from pinned memory already") != std::string::npos);
  }

  TEST_CASE("copies: memory that is pinned already is neither advised nor priced") {
    using stallscope::attribution::Category;
    const auto gain = [](stallscope::trace::CopyMemory memory) {
      CaseBuilder builder;
      builder.with_spec = false;
      builder.run.info.imported_from = "kineto";
      builder.Spend(Category::kTransfer, 0.4, Bound::kTransfer);
      builder.CopyBatches(memory, 19'000'000);
      const auto finding = builder.FindingOf("copy-overlap");
      REQUIRE(finding.has_value());
      const bool says = finding->recommendation->text.find("pinned") != std::string::npos;
      CHECK(says == (memory != stallscope::trace::CopyMemory::kPinned));
      REQUIRE(finding->recommendation->gain.has_value());
      return *finding->recommendation->gain;
    };
    const auto pinned = gain(stallscope::trace::CopyMemory::kPinned);
    const auto pageable = gain(stallscope::trace::CopyMemory::kPageable);
    const auto unknown = gain(stallscope::trace::CopyMemory::kUnknown);
    CHECK(pinned.high < pageable.high + 1e-9);
    CHECK(unknown.low == doctest::Approx(pinned.low));
    CHECK(unknown.high == doctest::Approx(pageable.high));
  }

  TEST_CASE("kernel-fusion: the gain is that of the launches which neighbors would save") {
    using stallscope::attribution::Category;
    const auto gain = [](const std::vector<std::string>& step) {
      CaseBuilder builder;
      builder.spec.trainer.graph = stallscope::GraphMode::kEager;
      builder.spec.trainer.fuse = false;
      builder.spec.trainer.device = stallscope::TrainerDevice::kEmulated;
      builder.Spend(Category::kLaunch, 0.6, Bound::kLaunch);
      builder.attribution.kernels.clear();
      for (const std::string& name : step) {
        stallscope::trace::Kernel kernel;
        kernel.name = builder.Intern(name);
        builder.run.rows.kernels.push_back(kernel);
        builder.attribution.kernels.push_back({kernel.name, 10'000, 50'000'000, 0.1, false});
      }
      const auto finding = builder.FindingOf("kernel-fusion");
      return finding.has_value() ? finding->recommendation->gain->predicted : 0.0;
    };
    const double one = gain({"gemm", "add_bias", "gelu", "gemm", "transpose"});
    const double two = gain({"gemm", "add_bias", "gelu", "add", "gemm"});
    CHECK(one > 1.05);
    CHECK(two > one);
    // Elementwise ones, but none beside another.
    CHECK(gain({"gemm", "add_bias", "gemm", "gelu", "gemm"}) == 0);
  }

  TEST_CASE("a map that is half random: what is random and what is not share its time") {
    CaseBuilder b;
    b.SpecOf<stallscope::MapSpec>("decode").ops = {"decode_jpeg", "random_resized_crop(224)",
                                                   "color_jitter"};
    b.Stall("decode", stallscope::attribution::Cause::kCpu, 0.6);
    const auto same = b.FindingOf("snapshot");
    const auto random = b.FindingOf("precomputed-augmentation");
    REQUIRE(same.has_value());
    REQUIRE(random.has_value());
    CHECK(same->share + random->share == doctest::Approx(0.6));
    CHECK(same->share > random->share);
    CHECK(same->text.starts_with("about "));
    CHECK(same->text.find("decode (decode_jpeg)") != std::string::npos);
    CHECK(random->text.starts_with("about "));
    CHECK(random->text.find("(random_resized_crop(224), color_jitter)") != std::string::npos);
    // What is random altogether is all of it.
    CaseBuilder whole;
    whole.Stall("augment", stallscope::attribution::Cause::kCpu, 0.5);
    CHECK(whole.FindingOf("precomputed-augmentation")->share == doctest::Approx(0.5));
    CHECK(whole.FindingOf("precomputed-augmentation")->text.starts_with("50.0%"));
  }

  TEST_CASE("snapshot: what the page cache cannot hold only a replay prices") {
    const auto only_measured = [](uint64_t available) {
      CaseBuilder b;
      b.Stall("decode", stallscope::attribution::Cause::kCpu, 0.5);
      b.ReadElements(500, 4, 100'000, 2);
      b.attribution.memory.available_bytes = available;
      const auto finding = b.FindingOf("snapshot");
      REQUIRE(finding.has_value());
      return finding->recommendation->only_measured;
    };
    CHECK(only_measured(uint64_t{1} << 20));
    CHECK_FALSE(only_measured(uint64_t{1} << 40));
  }

  TEST_CASE("what only a simulation of other ops prices has no figure without one") {
    size_t seen = 0;
    for (const Scenario& scenario : AllScenarios()) {
      const bool less = scenario.id == "redundant-work" || scenario.id == "late-cast" ||
                        scenario.id == "decode-crop" || scenario.id == "map-and-batch" ||
                        scenario.id == "map-fusion" || scenario.id == "vectorise";
      if (!less && scenario.id != "decode-scaled" && scenario.id != "narrow-dtype" &&
          scenario.id != "device-preprocessing") {
        continue;
      }
      CaseBuilder builder = Fired(scenario);
      if (!builder.with_spec) continue;
      CAPTURE(scenario.what);
      const auto finding = builder.FindingOf(scenario.id);
      REQUIRE(finding.has_value());
      CHECK_FALSE(finding->recommendation->gain.has_value());
      CHECK(finding->recommendation->unpriced.find("replay it with the change") !=
            std::string::npos);
      CHECK(finding->recommendation->costs_nothing == less);
      ++seen;
    }
    CHECK(seen == 23);
  }

  TEST_CASE("no prices without pricing") {
    CaseBuilder builder;
    builder.Stall("decode", stallscope::attribution::Cause::kCpu, 0.5);
    for (const Finding& finding : builder.Find(false)) {
      CAPTURE(finding.id);
      if (finding.recommendation.has_value()) CHECK_FALSE(finding.recommendation->gain.has_value());
    }
  }

  TEST_CASE("stragglers: text names step, element and shard") {
    for (const Scenario& scenario : AllScenarios()) {
      if (scenario.id != "stragglers") continue;
      const auto finding = Fired(scenario).FindingOf("stragglers");
      REQUIRE(finding.has_value());
      CHECK(finding->text ==
            "step 17 waited 41.0 ms for element 100, read from shard 3 (train-00003.tfrecord, "
            "record 25), and 1 other step for one element each");
      CHECK(finding->evidence.size() == 2);
    }
  }

  TEST_CASE("prefetch: depth from the longest wait") {
    CaseBuilder b;
    b.SpecOf<stallscope::PrefetchSpec>("prefetch").buffer_size = {1, false};
    b.TakeStagesFromSpec();
    b.Stall("decode", stallscope::attribution::Cause::kBuffer, 0.4);
    // Each tenth step waits for what nine steps of work take.
    using stallscope::attribution::Category;
    auto& steps = b.attribution.steps;
    for (size_t i = 0; i < steps.size(); ++i) {
      auto& stall = steps[i].ns[stallscope::attribution::At(Category::kInputStall)];
      stall = 0;
      if (i % 10 == 0) stall = (steps[i].end_ns - steps[i].start_ns) * 9 / 10;
    }
    const auto finding = b.FindingOf("prefetch");
    REQUIRE(finding.has_value());
    REQUIRE(finding->recommendation.has_value());
    REQUIRE(finding->recommendation->gain.has_value());
    CHECK(finding->recommendation->gain->low > 1);
    const auto changed = Apply(b.spec, finding->recommendation->patch);
    REQUIRE(changed.ok());
    b.spec = changed.value();
    CHECK(b.SpecOf<stallscope::PrefetchSpec>("prefetch").buffer_size.value == 2);
  }
}
