#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "tests/analyzer/findings/job_case.h"
#include "tests/analyzer/findings/scenarios.h"
#include "tests/support/program.h"

namespace stallscope::test {

using attribution::Cause;

namespace {

constexpr const char* kWholeInEach =
    R"({"num_workers":2,"iterable":true,"whole_in_each_worker":true})";

// A pass over a stream, of which each worker has so many batches; they make them in turn. Steps
// wait for them half of the time.
void MakeStream(CaseBuilder& b, std::vector<int> batches) {
  MakeJob(b, Cause::kCpu);
  b.run.loaders[0].info.dataset = "Lines";
  b.run.loaders[0].info.settings_json =
      fmt::format(R"({{"num_workers":{},"iterable":true}})", batches.size());
  const StageId fetch = b.IdOf("decode");
  b.run.span_classes = {{trace::SpanKind::kWork, fetch}};
  std::erase_if(b.run.tracks, [&](const model::Track& track) { return track.info.stage == fetch; });
  const size_t first = b.run.tracks.size();
  for (size_t i = 0; i < batches.size(); ++i) {
    model::Track& track = b.run.tracks.emplace_back();
    track.info.id = {static_cast<uint32_t>(first + i)};
    track.info.name = fmt::format("worker {}", i);
    track.info.stage = fetch;
  }
  b.run.rows.steps.clear();
  const auto window = b.attribution.window;
  const int64_t every = window.ns() / 100;
  uint64_t next = 0;
  while (*std::max_element(batches.begin(), batches.end()) > 0) {
    for (size_t i = 0; i < batches.size(); ++i) {
      if (batches[i]-- <= 0) continue;
      const int64_t at = window.start_ns + static_cast<int64_t>(next) * every;
      b.run.tracks[first + i].spans.Append(at, every / 2, 0, ItemId{next});
      trace::Step& step = b.run.rows.steps.emplace_back();
      step.batch = ItemId{next++};
      step.requested_ns = at;
      step.received_ns = at + every / 2;
    }
  }
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("job: no advice for a spec, and no gain without a simulation of its workers") {
    for (const Scenario& scenario : JobScenarios()) {
      CaseBuilder builder;
      scenario.fires(builder);
      for (const findings::Finding& finding : builder.Find()) {
        CAPTURE(finding.id);
        CHECK(finding.id != "map-parallelism");
        const auto& advice = finding.recommendation;
        // A stream is to be divided among them first.
        const bool divided = builder.run.loaders[0].info.settings_json == kWholeInEach;
        if (advice && finding.id == "loader-workers" && !divided) {
          CHECK(advice->patch == Patch{{SetTo("loader.num_workers", int64_t{4})}});
        } else if (advice && finding.id == "persistent-workers") {
          CHECK(advice->patch == Patch{{SetTo("loader.persistent_workers", true)}});
        }
        if (finding.id == "prefetch") {
          REQUIRE(advice.has_value());
          CHECK(advice->patch == Patch{{SetTo("loader.prefetch_factor", int64_t{4})}});
        }
        if (finding.recommendation) CHECK_FALSE(finding.recommendation->gain.has_value());
      }
    }
  }

  TEST_CASE("job: an op is called waiting only for what is no queue for a core") {
    for (const bool contended : {true, false}) {
      CaseBuilder b;
      MakeJob(b, contended ? Cause::kCpuContention : Cause::kBlocked);
      AddOps(b, 0.8);
      attribution::StageUse& use = b.UseOf("decode");
      use.ops[0].cpu_ns = use.ops[0].ns / 10;
      use.contention_ns = contended ? use.busy_ns / 2 : 0;
      use.blocked_ns = use.busy_ns / 2 - use.contention_ns;
      const auto found = b.Find();
      const auto slow = std::find_if(found.begin(), found.end(),
                                     [](const auto& finding) { return finding.id == "slow-op"; });
      REQUIRE(slow != found.end());
      const std::string& advice = slow->recommendation->text;
      CHECK((advice.find("is off the CPU for 90.0%") != std::string::npos) == !contended);
      CHECK((advice.find("cheaper") != std::string::npos) == contended);
    }
  }

  TEST_CASE("job: an op whose stage has the trainer's cores is to be cheaper") {
    CaseBuilder b;
    MakeJob(b, Cause::kCpu, 0.02);
    AddOps(b, 0.8);
    b.attribution.devices.clear();
    b.run.loaders[0].steps = 100;
    b.attribution.cpu.trainer_run_wait = 0.8;
    CHECK_FALSE(b.FindingOf("slow-op").has_value());
    b.attribution.cpu.taken_by_input = 0.7;
    const auto found = b.FindingOf("slow-op");
    REQUIRE(found.has_value());
    CHECK(Has(found->recommendation->text, "cheaper"));
    CHECK(found->recommendation->unpriced.ends_with(
        "at most about 3.57x, without any wait for input, or for the cores that it has"));
  }

  TEST_CASE("job: an op that waits for the interpreter is to be cheaper") {
    CaseBuilder b;
    MakeJob(b, Cause::kCpu);  // the stall waited for the threads that had it
    AddOps(b, 0.8);
    b.UseOf("decode").ops[0].cpu_ns = b.UseOf("decode").ops[0].ns / 10;
    CHECK(Has(b.FindingOf("slow-op")->recommendation->text, "cheaper"));
  }

  TEST_CASE("job: a graph's op that waits for TensorFlow's threads is to be cheaper") {
    const auto advice = [](const char* loader, const char* op) {
      CaseBuilder b;
      MakeJob(b, Cause::kBlocked);
      b.run.loaders[0].info.kind = loader;
      AddOps(b, 0.8);
      b.UseOf("decode").ops[0].cpu_ns = b.UseOf("decode").ops[0].ns / 10;
      if (op != nullptr) {
        trace::SpanClass what;
        what.activity = trace::SpanActivity::kOperator;
        what.name = b.Intern(op);
        b.run.span_classes.push_back(what);
        model::Track detail;
        detail.info.kind = trace::TrackKind::kDetail;
        detail.spans.Append(b.attribution.window.start_ns, 1'000,
                            static_cast<uint16_t>(b.run.span_classes.size() - 1), ItemId::None());
        b.run.tracks.push_back(detail);
      }
      return b.FindingOf("slow-op")->recommendation->text;
    };
    CHECK(Has(advice("tf.data.Dataset", nullptr), "cheaper"));
    CHECK(Has(advice("tf.data.Dataset", "ReadFile"), "off the CPU"));
    CHECK(Has(advice("DataLoader", nullptr), "off the CPU"));
  }

  TEST_CASE("job: torch's own sampler is found, and names no element") {
    const auto found = [](const char* name, int steps_each, Cause cause = Cause::kCpu) {
      CaseBuilder b;
      MakeJob(b, cause);
      b.run.stages[b.IdOf("decode").value].name = name;
      MakePasses(b, 20, steps_each, 5'000'000'000);
      return b.FindingOf("slow-op");
    };
    const auto sampler = found("loader2.sampler", 2);
    REQUIRE(sampler);
    CHECK(Has(sampler->text, "50.0% of step time goes to choosing which elements are next"));
    CHECK(Has(sampler->recommendation->text, "all of a pass in one call"));
    CHECK(Has(found("sampler", 1)->recommendation->text, "one iterator before the loop"));
    CHECK_FALSE(found("fetch", 2));
    CHECK_FALSE(found("sampler", 2, Cause::kCpuContention));
  }

  TEST_CASE("job: what is not predicted has a limit, that of a run without waits") {
    const auto unpriced = [](double share, uint64_t steps) {
      CaseBuilder b;
      MakeJob(b, Cause::kCpu, share);
      b.run.loaders[0].steps = steps;
      return b.FindingOf("loader-workers")->recommendation->unpriced;
    };
    CHECK(unpriced(0.5, 100).ends_with(
        "measures it; at most about 2.00x, without any wait for input"));
    CHECK(unpriced(0.5, 0).ends_with("measures it"));  // it feeds no step
    CHECK(unpriced(0.97, 100).ends_with("measures it"));
  }

  TEST_CASE("job: the finding about an op names its slowest lines") {
    CaseBuilder b;
    MakeJob(b, Cause::kCpu);
    AddOps(b, 0.8);
    const auto evidence = [&] {
      std::string text;
      const auto found = b.FindingOf("slow-op");
      for (const auto& shown : found->evidence) text += shown.text + "\n";
      return text;
    };
    CHECK(evidence().find("measured") == std::string::npos);
    b.UseOf("decode").ops[0].lines = {{14, 0.9, 96}, {15, 0.06, 1}, {13, 0.04, 96}};
    CHECK(evidence().find("train.py:14: 90.0% of Resize, measured 96 times\n") !=
          std::string::npos);
    CHECK(evidence().find("train.py:15: 6.0% of Resize, measured 1 time\n") != std::string::npos);
    CHECK(evidence().find("train.py:13") == std::string::npos);
  }

  TEST_CASE("job: loaders that one line constructs share a setting, which is said") {
    CaseBuilder b;
    MakeJob(b, Cause::kCpu);
    b.run.loaders[0].info.file = "/u/train.py";
    b.run.loaders[0].info.line = 12;
    b.run.loaders.resize(2);
    b.run.loaders[1].name = "loader2";
    b.run.loaders[1].info.file = "/u/train.py";
    b.run.loaders[1].info.line = 13;
    const auto text = [&] { return b.FindingOf("loader-workers")->recommendation->text; };
    CHECK(text().ends_with("num_workers=4"));
    b.run.loaders[1].info.line = 12;
    CHECK(
        text().ends_with("num_workers=4; loader is constructed at train.py:12, as is loader2: "
                         "the setting applies to all of them"));
  }

  TEST_CASE("job: a loop that no DataLoader feeds has no setting to change") {
    CaseBuilder b;
    MakeJob(b, Cause::kCpu);
    b.run.loaders[0].info.settings_json = R"({"workers":0})";
    CHECK_FALSE(b.FindingOf("loader-workers"));  // threads of its own
    b.UseOf("decode").runs_in = b.IdOf("trainer");
    const auto found = b.FindingOf("loader-workers");
    REQUIRE(found);
    CHECK(found->text.find("nothing prepares batches ahead") != std::string::npos);
    CHECK(found->recommendation->patch == Patch());
    b.Stall("decode", Cause::kBuffer, 0.5);
    CHECK_FALSE(b.FindingOf("prefetch"));
  }

  TEST_CASE("job: an op that is a lock held is no op to make cheaper") {
    CaseBuilder b;
    MakeJob(b, Cause::kBlocked);
    AddOps(b, 0.8);
    b.UseOf("decode").ops[0].name = "multiprocessing.Lock held";
    const auto found = b.FindingOf("slow-op");
    REQUIRE(found);
    CHECK(found->recommendation->text ==
          "take multiprocessing.Lock (train.py:12) for less of the work: while one worker has it, "
          "the "
          "others wait");
  }

  TEST_CASE("job: a wait for a pool is about the function that the pool runs") {
    CaseBuilder b;
    MakeJob(b, Cause::kBlocked);
    AddOps(b, 0.8);
    attribution::OpUse& op = b.UseOf("decode").ops[0];
    op.cpu_ns = 0;
    CHECK(Has(b.FindingOf("slow-op")->recommendation->text, "let it wait less"));
    op.name = "waiting for load";
    const auto found = b.FindingOf("slow-op");
    CHECK(Has(found->text, "goes to waiting for load (train.py:12)"));
    CHECK(
        Has(found->recommendation->text, "make load (train.py:12) cheaper, or let the job's pool"));
  }

  TEST_CASE("job: processes do not have the pool that a data set waits for") {
    const auto advice = [](const char* op, double share) {
      CaseBuilder b;
      MakeJob(b, Cause::kBlocked);
      AddOps(b, share);
      b.UseOf("decode").ops[0].name = op;
      b.UseOf("decode").ops[0].cpu_ns = 0;
      b.run.loaders[0].info.settings_json = R"({"num_workers":0})";
      RunInTrainer(b);
      return *b.FindingOf("loader-workers")->recommendation;
    };
    const auto pooled = advice("waiting for load", 0.8);
    CHECK(pooled.patch == Patch());
    CHECK(Has(pooled.text, "a pool that was made before they start does not work in them"));
    CHECK_FALSE(advice("waiting for load", 0.3).patch == Patch());
    CHECK_FALSE(advice("load", 0.8).patch == Patch());
  }

  TEST_CASE("job: an op of a few sampled calls is not presented as sure") {
    CaseBuilder b;
    MakeJob(b, Cause::kCpu);
    AddOps(b, 0.8);
    const auto text = [&](uint64_t calls) {
      b.UseOf("decode").ops[0].count = calls;
      return b.FindingOf("slow-op")->text;
    };
    CHECK(text(1).ends_with("Resize (train.py:12), measured only 1 time"));
    CHECK(text(3).ends_with("Resize (train.py:12), measured only 3 times"));
    CHECK(text(4).ends_with("Resize (train.py:12)"));
  }

  TEST_CASE("job: fewer shards than workers get advice on how to write more") {
    CaseBuilder b;
    MakeJob(b, Cause::kCpu);
    b.run.loaders[0].info.settings_json = R"({"num_workers":3,"shards":2})";
    const auto found = b.FindingOf("sharding");
    REQUIRE(found);
    CHECK(Has(found->recommendation->code.pytorch, "to_iterable_dataset(num_shards=3)"));
    CHECK(found->recommendation->patch == Patch());
    CHECK_FALSE(b.FindingOf("loader-workers"));  // another worker would have no shard
  }

  TEST_CASE("job: a stream that each worker yields whole is to be divided first") {
    const auto found = [](const char* rule, const char* settings) {
      CaseBuilder b;
      MakeJob(b, Cause::kCpu);
      b.run.loaders[0].info.dataset = "Lines";
      b.run.loaders[0].info.settings_json = settings;
      return b.FindingOf(rule);
    };
    const auto repeated = found("sharding", kWholeInEach);
    REQUIRE(repeated);
    CHECK(Has(repeated->text, "each of loader's 2 workers yields all of Lines"));
    CHECK(Has(repeated->recommendation->code.pytorch, "get_worker_info()"));
    const auto more = found("loader-workers", kWholeInEach);
    REQUIRE(more);
    CHECK(Has(more->recommendation->text, "divide the data set among its workers"));
    CHECK(more->recommendation->patch == Patch());
    CHECK(Has(more->recommendation->code.pytorch, "num_workers=4"));
    CHECK_FALSE(found("sharding", R"({"num_workers":2,"iterable":true})"));
    CHECK(found("loader-workers", R"({"num_workers":2,"iterable":true})")->recommendation->patch !=
          Patch());
  }

  TEST_CASE(
      "job: unequal shares of a stream are named, and matter once half of the workers are idle") {
    CaseBuilder b;
    MakeStream(b, {6, 30, 7});
    const auto found = b.FindingOf("sharding");
    REQUIRE(found);
    CHECK(
        found->text ==
        "loader's 3 workers have unequal shares of Lines: worker 1 made 30 of the 43 batches of a "
        "pass");
    REQUIRE_FALSE(found->evidence.empty());
    CHECK(Has(found->evidence[0].text,
              "23 of the 43 batches came after at least half of the workers"));
    CHECK(Has(found->recommendation->code.pytorch, "get_worker_info()"));
    CaseBuilder alike;
    MakeStream(alike, {6, 30, 30});
    CHECK_FALSE(alike.FindingOf("sharding"));
    CaseBuilder few;  // the others have none at all
    MakeStream(few, {0, 43, 0});
    few.run.loaders[0].info.settings_json = R"({"num_workers":3,"iterable":true,"shards":1})";
    const auto none = few.FindingOf("sharding");
    REQUIRE(none);
    CHECK(Has(none->text, "2 of loader's 3 workers have nothing to load"));
    const auto all = few.Find();
    CHECK(std::count_if(all.begin(), all.end(),
                        [](const auto& each) { return each.id == "sharding"; }) == 1);
    CaseBuilder unordered;  // who is faster makes more
    MakeStream(unordered, {6, 30});
    unordered.run.loaders[0].info.settings_json =
        R"({"num_workers":2,"iterable":true,"in_order":false})";
    CHECK_FALSE(unordered.FindingOf("sharding"));
  }

  TEST_CASE("job: a stream that the job itself divides into shards gets the change") {
    CaseBuilder b;
    MakeJob(b, Cause::kCpu);
    trace::LoaderInfo& info = b.run.loaders[0].info;
    info.file = "/u/train.py";
    info.line = info.call.line = 2;
    info.call.source = "s = d.to_iterable_dataset()\nl = DataLoader(s, num_workers=3)\n";
    info.call.source_line = 1;
    info.settings_json = R"({"num_workers":3,"shards":1,"num_shards":1,
        "num_shards_at":"train.py:1"})";
    const auto found = b.FindingOf("sharding");
    REQUIRE(found);
    CHECK(found->recommendation->patch == Patch{{SetTo("loader.num_shards", int64_t{3})}});
    CHECK(found->where.line == 1);
    REQUIRE(found->changes.size() == 1);
    CHECK(Has(found->changes[0].diff, "+s = d.to_iterable_dataset(num_shards=3)\n"));
  }

  TEST_CASE("job: a finding without a change is at the call that constructs the loader") {
    CaseBuilder b;
    MakeJob(b, Cause::kCpu);
    trace::LoaderInfo& info = b.run.loaders[0].info;
    info.settings_json = R"({"num_workers":3,"shards":2})";
    info.file = "/u/train.py";
    info.line = info.call.line = info.call.end_line = 7;
    info.call.column = 4;
    info.call.end_column = 18;
    info.call.source = "l = DataLoader(ds)\n";
    info.call.source_line = 7;
    const auto found = b.FindingOf("sharding");
    REQUIRE(found);
    CHECK(found->where.line == 7);
    CHECK(found->where.extent == findings::CodeExtent{5, 7, 19});
  }

  TEST_CASE("job: bursts in a tf.data graph that does not end with a prefetch") {
    CaseBuilder b;
    MakeJob(b, Cause::kBuffer);
    trace::LoaderInfo& info = b.run.loaders[0].info;
    info.kind = "tf.data.Dataset";
    info.file = "/u/train.py";
    info.line = 2;
    info.call.source = "d = tf.data.Dataset.range(9).map(decode)\nd = d.batch(4)\n";
    info.call.source_line = 1;
    const auto graph = [&](const std::string& last) {
      info.settings_json = R"({"graph":[{"op":"Map","line":1},)" + last + "]}";
      return b.FindingOf("prefetch");
    };
    const auto missing = graph(R"({"op":"Batch","line":2})");
    REQUIRE(missing);
    CHECK(Has(missing->text, "a graph that does not end with prefetch()"));
    CHECK(missing->where.file == "/u/train.py");
    CHECK(missing->where.line == 2);
    REQUIRE(missing->changes.size() == 1);
    CHECK(Has(missing->changes[0].diff, "+d = d.batch(4).prefetch(tf.data.AUTOTUNE)\n"));
    CHECK(Has(missing->recommendation->code.tf_data, "ds.prefetch(tf.data.AUTOTUNE)"));
    const auto small = graph(R"({"op":"Prefetch","line":2,"buffer_size":1})");
    REQUIRE(small);
    CHECK(Has(small->text, "prefetch(1)"));
    CHECK_FALSE(graph(R"({"op":"Prefetch","line":2,"buffer_size":"autotune"})"));
    CHECK(small->recommendation->patch == Patch());  // as recorded before there was the knob
    info.settings_json = R"({"prefetch":3,"graph":[{"op":"Prefetch","line":2,"buffer_size":3}]})";
    const auto knob = b.FindingOf("prefetch");
    REQUIRE(knob);
    CHECK(knob->recommendation->patch == Patch{{SetTo("loader.prefetch", int64_t{6})}});
    CHECK(knob->changes.size() == 1);
  }

  TEST_CASE("job: what a tf.data graph lacks is a setting of its loader") {
    CaseBuilder b;
    MakeJob(b, Cause::kCpu);
    b.run.info.imported_from = "xplane";  // joined
    b.run.stages[b.IdOf("decode").value].kind = "MapAndBatch";
    trace::LoaderInfo& info = b.run.loaders[0].info;
    info.kind = "tf.data.Dataset";
    info.file = "/u/train.py";
    info.line = 1;
    info.call.source = "d = tf.data.Dataset.range(9).map(decode)\n";
    info.call.source_line = 1;
    info.settings_json =
        R"({"num_parallel_calls":null,"prefetch":null,"graph":[{"op":"Map","line":1}]})";
    const auto found = b.FindingOf("map-parallelism");
    REQUIRE(found);
    const Patch& patch = found->recommendation->patch;
    REQUIRE(patch.changes.size() == 1);
    const auto& set = std::get<SetChange>(patch.changes[0]);
    CHECK(set.path == "loader.num_parallel_calls");
    CHECK_FALSE(found->recommendation->of_stages);
    // What a re-run would measure is what the diff sets.
    REQUIRE(found->changes.size() == 1);
    CHECK(Has(found->changes[0].diff, "map(decode, num_parallel_calls=" + set.value + ")"));
  }
}

std::vector<Scenario> JobScenarios() {
  return {
      {"loader-workers", "a job whose two workers are busy, on eight cores",
       [](CaseBuilder& b) { MakeJob(b, Cause::kCpu); }, "they are as many as there are cores",
       [](CaseBuilder& b) { b.attribution.cpu.cores = 2; }},
      {"persistent-workers", "a job whose workers start again and again",
       [](CaseBuilder& b) { MakeJob(b, Cause::kStartup); }, "they start once",
       [](CaseBuilder& b) {
         for (auto& blame : b.attribution.blame) blame.cause = Cause::kCpu;
       }},
      {"prefetch", "a job's bursts empty its queue",
       [](CaseBuilder& b) { MakeJob(b, Cause::kBuffer); }, "no worker works ahead",
       [](CaseBuilder& b) { b.run.loaders[0].info.settings_json = "{}"; }},
      {"sharding", "a job's data set has fewer shards than its loader has workers",
       [](CaseBuilder& b) {
         MakeJob(b, Cause::kCpu);
         b.run.loaders[0].info.settings_json = R"({"num_workers":3,"shards":2})";
       },
       "each worker has one",
       [](CaseBuilder& b) {
         b.run.loaders[0].info.settings_json = R"({"num_workers":3,"shards":3})";
       }},
      {"sharding", "one of a job's two workers has most of a stream",
       [](CaseBuilder& b) {
         MakeStream(b, {6, 30});
       },
       "both have as much",
       [](CaseBuilder& b) {
         MakeStream(b, {18, 18});
       }},
      {"sharding", "steps wait for the worker that has most of a stream",
       [](CaseBuilder& b) {
         MakeStream(b, {6, 30});
       },
       "they do not",
       [](CaseBuilder& b) {
         for (trace::Step& step : b.run.rows.steps) step.requested_ns = step.received_ns;
       }},
      {"sharding", "each of a job's workers yields all of a stream",
       [](CaseBuilder& b) {
         MakeJob(b, Cause::kCpu);
         b.run.loaders[0].info.settings_json = kWholeInEach;
       },
       "there is one worker",
       [](CaseBuilder& b) {
         b.run.loaders[0].info.settings_json =
             R"({"num_workers":1,"iterable":true,"whole_in_each_worker":true})";
       }},
      {"slow-op", "a job's fetch is mostly one op",
       [](CaseBuilder& b) {
         MakeJob(b, Cause::kCpu);
         AddOps(b, 0.8);
       },
       "its time goes to many", [](CaseBuilder& b) { b.UseOf("decode").ops[0].ns /= 4; }},
      {"transport", "a job's batches take long on their way",
       [](CaseBuilder& b) {
         MakeJob(b, Cause::kCpu);
         b.run.stages[b.IdOf("decode").value].kind = "transport";
       },
       "they are held in order",
       [](CaseBuilder& b) {
         for (auto& blame : b.attribution.blame) blame.cause = Cause::kOrder;
       }},
  };
}

}  // namespace stallscope::test
