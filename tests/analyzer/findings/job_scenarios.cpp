#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "tests/analyzer/findings/scenarios.h"
#include "tests/support/program.h"

namespace stallscope::test {

using attribution::Cause;

namespace {

constexpr const char* kWholeInEach =
    R"({"num_workers":2,"iterable":true,"whole_in_each_worker":true})";

// The case's decode is what the worker processes of a recorded job do.
void MakeJob(CaseBuilder& b, Cause cause, double share = 0.5) {
  b.run.info.job.command = {"python", "train.py"};
  b.run.loaders.resize(1);
  b.run.loaders[0].name = "loader";
  b.run.loaders[0].info.settings_json = R"({"num_workers":2,"prefetch_factor":2,"in_order":true})";
  trace::StageInfo& stage = b.run.stages[b.IdOf("decode").value];
  stage.loader = LoaderId{0};
  stage.kind = "map";
  b.with_spec = false;
  b.Stall("decode", cause, share);
}

// Each of which is left before the loader has given all of its batches, if it has one step.
void MakePasses(CaseBuilder& b, int passes, int steps_each, int64_t pass_ns) {
  std::string& settings = b.run.loaders[0].info.settings_json;
  if (steps_each == 1) settings.insert(1, R"("left_early":true,)");
  b.run.rows.steps.clear();
  for (int i = 0; i < passes * steps_each; ++i) {
    trace::Step& step = b.run.rows.steps.emplace_back();
    const auto pass = static_cast<uint64_t>(i / steps_each);
    step.batch.value = pass << 32U | static_cast<uint64_t>(i % steps_each);
    step.requested_ns = i / steps_each * pass_ns + i % steps_each;
  }
}

void AddOps(CaseBuilder& b, double share) {
  attribution::StageUse& use = b.UseOf("decode");
  const auto ns = static_cast<int64_t>(share * static_cast<double>(use.busy_ns));
  use.sampled_ns = use.busy_ns;
  use.ops = {{"Resize", "/home/u/train.py", 12, 100, ns, ns}};
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

  TEST_CASE("job: an op that waits for the interpreter is to be cheaper") {
    CaseBuilder b;
    MakeJob(b, Cause::kCpu);  // the stall waited for the threads that had it
    AddOps(b, 0.8);
    b.UseOf("decode").ops[0].cpu_ns = b.UseOf("decode").ops[0].ns / 10;
    CHECK(Has(b.FindingOf("slow-op")->recommendation->text, "cheaper"));
  }

  TEST_CASE("job: more workers download more at once, but choose no more indices") {
    CaseBuilder b;
    MakeJob(b, Cause::kIo);
    b.run.stages[b.IdOf("decode").value].kind = "source";
    CHECK(b.FindingOf("loader-workers"));
    // The trainer's own thread: a sampler.
    for (auto& track : b.run.tracks) {
      if (track.info.stage == b.IdOf("decode")) track.info.stage = StageId::None();
    }
    for (auto& use : b.attribution.stages) {
      if (use.runs_in == b.IdOf("decode")) use.runs_in = StageId::None();
    }
    CHECK_FALSE(b.FindingOf("loader-workers"));
  }

  TEST_CASE("job: a single worker helps only beside a trainer that works") {
    const auto found = [](double share) {
      CaseBuilder b;
      MakeJob(b, Cause::kCpu, share);
      b.run.loaders[0].info.settings_json = R"({"num_workers":0,"shards":1})";
      for (auto& track : b.run.tracks) {
        if (track.info.stage == b.IdOf("decode")) track.info.stage = b.IdOf("trainer");
      }
      for (auto& use : b.attribution.stages) {
        if (use.runs_in == b.IdOf("decode")) use.runs_in = b.IdOf("trainer");
      }
      return b.FindingOf("loader-workers").has_value();
    };
    CHECK(found(0.5));
    CHECK_FALSE(found(0.98));
  }

  TEST_CASE("job: workers stay for epochs that are short") {
    const auto found = [](int64_t pass_ns, int passes, const std::string& settings) {
      CaseBuilder b;
      MakeJob(b, Cause::kCpu);
      b.run.loaders[0].info.settings_json = settings;
      MakePasses(b, passes, 2, pass_ns);
      return b.FindingOf("loader-workers")->recommendation;
    };
    const char* const two = R"({"num_workers":2})";
    const auto stay = found(1'000'000'000, 3, two);
    REQUIRE(stay);
    CHECK(stay->patch == Patch{{SetTo("loader.num_workers", int64_t{4}),
                                SetTo("loader.persistent_workers", true)}});
    CHECK(Has(stay->text,
              "load in 4 worker processes that stay from one epoch to the next: "
              "num_workers=4, persistent_workers=True"));
    CHECK(Has(stay->code.pytorch, "persistent_workers=True"));
    const Patch alone{{SetTo("loader.num_workers", int64_t{4})}};
    CHECK(found(5'000'000'000, 3, two)->patch == alone);
    CHECK(found(1'000'000'000, 1, two)->patch == alone);
    CHECK(found(1'000'000'000, 3, R"({"num_workers":2,"persistent_workers":true})")->patch ==
          alone);
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

  TEST_CASE("job: the workers of a loader that is made again for each pass cannot be kept") {
    const auto advice = [](const char* settings) {
      CaseBuilder b;
      MakeJob(b, Cause::kStartup);
      b.run.loaders[0].info.settings_json = settings;
      return *b.FindingOf("persistent-workers")->recommendation;
    };
    const auto again = advice(R"({"num_workers":2,"made_again":true})");
    CHECK(again.patch.changes.empty());
    CHECK(Has(again.text, "make the loader once, before the first epoch, with persistent_workers"));
    CHECK_FALSE(advice(R"({"num_workers":2})").patch.changes.empty());
  }

  TEST_CASE("job: workers that start for each step are a matter of the iterator") {
    const auto text = [](int steps_each, int passes) {
      CaseBuilder b;
      MakeJob(b, Cause::kStartup);
      MakePasses(b, passes, steps_each, 5'000'000'000);
      return b.FindingOf("persistent-workers")->recommendation->text;
    };
    CHECK(Has(text(1, 20), "one iterator before the loop"));
    CHECK(Has(text(2, 20), "keep the workers between epochs"));
    CHECK(Has(text(1, 3), "keep the workers between epochs"));
    CaseBuilder whole;  // a loader with a single batch
    MakeJob(whole, Cause::kStartup);
    MakePasses(whole, 20, 1, 5'000'000'000);
    whole.run.loaders[0].info.settings_json = R"({"num_workers":2})";
    CHECK(Has(whole.FindingOf("persistent-workers")->recommendation->text,
              "keep the workers between epochs"));
  }

  TEST_CASE("job: what the job's process lacks a core for is said beside what it works") {
    const auto text = [](double lacks) {
      CaseBuilder b;
      MakeJob(b, Cause::kCpu, 0.3);
      b.run.loaders[0].info.settings_json = R"({"num_workers":0})";
      for (auto& track : b.run.tracks) {
        if (track.info.stage == b.IdOf("decode")) track.info.stage = b.IdOf("trainer");
      }
      for (auto& use : b.attribution.stages) {
        if (use.runs_in == b.IdOf("decode")) use.runs_in = b.IdOf("trainer");
      }
      b.attribution.blame.push_back({b.IdOf("decode"), Cause::kCpuContention, 1, lacks});
      return b.FindingOf("loader-workers")->text;
    };
    CHECK(Has(text(0.2), "works for 30.0% of step time in decode, and lacks a core for 20.0%:"));
    CHECK(Has(text(0.01), "works for 30.0% of step time in decode: num_workers is 0"));
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

  TEST_CASE("job: workers for a loader that evaluates, where that takes long") {
    const auto found = [](double evaluation, double share) {
      CaseBuilder b;
      MakeJob(b, Cause::kCpu, 0);
      b.run.loaders[0].info.settings_json = R"({"num_workers":0})";
      for (auto& track : b.run.tracks) {
        if (track.info.stage == b.IdOf("decode")) track.info.stage = b.IdOf("trainer");
      }
      for (auto& use : b.attribution.stages) {
        if (use.runs_in == b.IdOf("decode")) use.runs_in = b.IdOf("trainer");
      }
      b.UseOf("decode").utilization = share;
      b.attribution.beside = {{"evaluation", 40, 1, evaluation}};
      return b.FindingOf("loader-workers");
    };
    const auto slow = found(0.4, 0.3);
    REQUIRE(slow);
    CHECK(Has(slow->text, "evaluation takes 40.0% of the time, and 75.0% of it goes to decode"));
    CHECK(slow->recommendation->patch == Patch{{SetTo("loader.num_workers", int64_t{4})}});
    CHECK_FALSE(found(0.4, 0.03));  // its model takes the time
    CHECK_FALSE(found(0.03, 0.03));
  }

  TEST_CASE("job: workers for a loader whose first epoch filled a cache") {
    // Two epochs, of which the first takes this many times as long per batch.
    const auto shown = [](const char* settings, int64_t slower, uint64_t last_pass,
                          std::optional<attribution::ColdCause> cold = std::nullopt) {
      CaseBuilder b;
      MakeJob(b, Cause::kCpu);
      b.run.loaders[0].info.settings_json = settings;
      if (cold) b.attribution.window.cold = attribution::ColdStart{.cause = *cold};
      b.run.rows.steps.resize(2);
      b.run.rows.steps[0].batch = ItemId{0};
      b.run.rows.steps[1].batch = ItemId{last_pass << 32U};
      b.run.rows.steps[1].requested_ns = 1000;
      b.run.span_classes = {{trace::SpanKind::kWork, b.IdOf("decode")}};
      model::Track track;
      track.spans.Append(0, 100 * slower, 0, ItemId{0});
      track.spans.Append(1000, 100, 0, ItemId{last_pass << 32U});
      b.run.tracks.push_back(track);
      std::string text;
      const auto found = b.FindingOf("loader-workers");
      REQUIRE(found);
      for (const auto& evidence : found->evidence) text += evidence.text;
      return text;
    };
    const char* const brief = R"({"num_workers":2})";
    const char* const stay = R"({"num_workers":2,"persistent_workers":true})";
    CHECK(Has(shown(brief, 4, 1), " as long per batch in the first epoch"));
    CHECK(Has(shown(brief, 4, 1), "lost after each epoch"));
    CHECK(Has(shown(stay, 4, 1), "each worker has a cache of its own"));
    CHECK_FALSE(Has(shown(stay, 4, 1), "lost after each epoch"));
    // There is no second epoch; it is hardly faster; the page cache was cold.
    CHECK_FALSE(Has(shown(brief, 4, 0), "cache"));
    CHECK_FALSE(Has(shown(brief, 1, 1), "cache"));
    CHECK_FALSE(Has(shown(brief, 4, 1, attribution::ColdCause::kPageCache), "cache"));
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

  TEST_CASE("job: as many more workers as it takes to keep up") {
    const auto workers = [](double share) {
      CaseBuilder b;
      MakeJob(b, Cause::kBlocked, share);
      const auto found = b.FindingOf("loader-workers");
      REQUIRE(found);
      return std::get<SetChange>(found->recommendation->patch.changes.at(0)).value;
    };
    CHECK(workers(0.3) == "4");
    CHECK(workers(0.8) == "10");
    CHECK(workers(0.99) == "64");
  }

  TEST_CASE("job: ranks with a recording each share their host's cores, or have their own") {
    const auto workers = [](uint32_t ranks_of_host, double allowed) -> std::string {
      CaseBuilder b;
      MakeJob(b, Cause::kCpu, 0.9);
      b.run.info.host.cores_online = 16;
      b.run.ranks_of_host = ranks_of_host;
      b.attribution.cpu.cores = allowed;
      const auto found = b.FindingOf("loader-workers");
      return found ? std::get<SetChange>(found->recommendation->patch.changes.at(0)).value : "";
    };
    CHECK(workers(0, 16) == "16");
    CHECK(workers(1, 16) == "16");
    CHECK(workers(4, 16) == "4");
    CHECK(workers(4, 3) == "3");
    CHECK(workers(8, 16) == "");
  }

  TEST_CASE("job: workers that share a lock get no advice to have more of them than can work") {
    const auto workers = [](double held, int64_t waits_ns) -> std::string {
      CaseBuilder b;
      MakeJob(b, Cause::kBlocked, 0.8);
      attribution::StageUse& use = b.UseOf("decode");
      if (held > 0) {
        AddOps(b, held);
        use.ops[0].name = "multiprocessing.Lock held";
        use.held = held;
      }
      use.lock_ns = waits_ns;
      const auto found = b.FindingOf("loader-workers");
      if (!found) return "";
      const bool shown = std::any_of(
          found->evidence.begin(), found->evidence.end(),
          [](const auto& each) { return Has(each.text, "multiprocessing.Lock (train.py:12)"); });
      CHECK(shown == (held >= 0.05));
      return std::get<SetChange>(found->recommendation->patch.changes.at(0)).value;
    };
    CHECK(workers(0, 0) == "10");
    CHECK(workers(0.02, 0) == "10");
    CHECK(workers(0.2, 0) == "5");
    CHECK(workers(0.5, 0) == "");
    CHECK(workers(0.9, 0) == "");
    // Those that there are wait already, and nobody knows how long it is held.
    const int64_t busy_ns = [] {
      CaseBuilder b;
      MakeJob(b, Cause::kBlocked, 0.8);
      return b.UseOf("decode").busy_ns;
    }();
    CHECK(workers(0, busy_ns / 5) == "");
    CHECK(workers(0, busy_ns / 50) == "10");
  }

  TEST_CASE("job: more workers do not help where each waits for a lock of a file") {
    const auto advice = [](const char* op, int64_t on_cpu) {
      CaseBuilder b;
      MakeJob(b, Cause::kBlocked, 0.8);
      AddOps(b, 0.8);
      auto& taken = b.UseOf("decode").ops[0];
      taken.name = op;
      taken.cpu_ns = taken.ns / 100 * on_cpu;
      const auto slow = b.FindingOf("slow-op");
      return std::pair(b.FindingOf("loader-workers").has_value(),
                       slow ? slow->recommendation->text : "");
    };
    const auto locked = advice("fcntl.flock", 0);
    CHECK_FALSE(locked.first);
    CHECK(Has(locked.second, "take the lock of fcntl.flock (train.py:12) for less of the work"));
    CHECK(advice("socket.recv", 0).first);
    CHECK(advice("fcntl.flock", 95).first);  // it is free each time
  }

  TEST_CASE("job: workers that are kept already start with another loader") {
    CaseBuilder b;
    MakeJob(b, Cause::kStartup);
    CHECK(b.FindingOf("persistent-workers")->recommendation->patch != Patch());
    b.run.loaders[0].info.settings_json = R"({"num_workers":2,"persistent_workers":true})";
    const auto kept = b.FindingOf("persistent-workers");
    REQUIRE(kept);
    CHECK(Has(kept->recommendation->text, "make the loader once"));
    CHECK(kept->recommendation->patch == Patch());
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

  TEST_CASE("job: a loop whose library loads in threads or processes gets a setting") {
    const auto found = [](Cause cause, bool alone, const char* settings) {
      CaseBuilder b;
      MakeJob(b, cause);
      b.run.loaders[0].info.kind = "grain._src.python.dataset.Iterator";
      b.run.loaders[0].info.settings_json = settings;
      b.run.loaders[0].info.file = "/u/train.py";
      if (alone) b.UseOf("decode").runs_in = b.IdOf("trainer");
      return b.FindingOf("loader-workers");
    };
    const auto patch = [&](Cause cause, bool alone, const char* settings) {
      const auto finding = found(cause, alone, settings);
      REQUIRE(finding);
      return finding->recommendation->patch;
    };
    const char* const both = R"({"num_workers":0,"threads":null,"prefetch":null})";
    // With room for two batches, or they read little ahead of the loop.
    CHECK(patch(Cause::kBlocked, true, both) ==
          Patch{{SetTo("loader.threads", int64_t{2}), SetTo("loader.prefetch", int64_t{64})}});
    // Threads would share the interpreter lock.
    CHECK(patch(Cause::kCpu, true, both) == Patch{{SetTo("loader.num_workers", int64_t{2})}});
    CHECK(patch(Cause::kCpu, true, R"({"threads":null,"prefetch":null})") == Patch());
    // Also where threads read ahead of it, or where the work would wait in more of them.
    const char* const reads = R"({"num_workers":0,"threads":16,"prefetch":500})";
    CHECK(patch(Cause::kCpu, true, reads) == Patch{{SetTo("loader.num_workers", int64_t{2})}});
    CHECK(patch(Cause::kBlocked, true, reads) == Patch{{SetTo("loader.num_workers", int64_t{2})}});
    CHECK(patch(Cause::kCpu, false, reads) == Patch{{SetTo("loader.num_workers", int64_t{2})}});
    CHECK(Has(found(Cause::kCpu, true, reads)->recommendation->text, "absl's flags"));
    // More of those that there are.
    const char* const threads = R"({"threads":2,"prefetch":64})";
    CHECK(patch(Cause::kBlocked, false, threads) == Patch{{SetTo("loader.threads", int64_t{4})}});
    CHECK_FALSE(found(Cause::kCpu, false, threads));
    const char* const processes = R"({"num_workers":2})";
    CHECK(patch(Cause::kCpu, false, processes) == Patch{{SetTo("loader.num_workers", int64_t{4})}});
    const auto said = [&](const char* settings) {
      const auto changes = found(Cause::kBlocked, false, settings)->changes;
      REQUIRE(changes.size() == 1);
      return changes[0].by_hand.at(0);
    };
    CHECK(said(threads) == "set num_threads=4 in grain.ReadOptions, where loader is built");
    CHECK(said(processes) ==
          "set num_workers=4 in grain.MultiprocessingOptions, where loader is built");
  }

  TEST_CASE("job: a mapper gets threads where it waits, and processes where it computes") {
    const auto found = [](Cause cause, bool alone, const char* function, int64_t threads) {
      CaseBuilder b;
      MakeJob(b, cause);
      b.run.loaders[0].info.kind = "torchdata.nodes.loader.LoaderIterator";
      b.run.loaders[0].info.settings_json = fmt::format(
          R"({{"threads":{0},"num_workers":0,"mappers":[],
              "mapper":{{"functions":["{1}"],"workers":{0},"method":"thread"}}}})",
          threads, function);
      AddOps(b, 0.8);
      b.UseOf("decode").ops[0].whole_ns = b.UseOf("decode").ops[0].ns;
      if (alone) b.UseOf("decode").runs_in = b.IdOf("trainer");
      return b.FindingOf("loader-workers");
    };
    const auto patch = [&](Cause cause, bool alone, const char* function, int64_t threads) {
      return found(cause, alone, function, threads)->recommendation->patch;
    };
    const char* const slow = "train.py:12";
    CHECK(patch(Cause::kBlocked, true, slow, 0) == Patch{{SetTo("loader.threads", int64_t{2})}});
    CHECK(patch(Cause::kBlocked, false, slow, 2) == Patch{{SetTo("loader.threads", int64_t{4})}});
    // Threads would share the interpreter lock.
    for (const int64_t threads : {0, 2}) {
      CHECK(patch(Cause::kCpu, threads == 0, slow, threads) ==
            Patch{{SetTo("loader.num_workers", int64_t{2})}});
    }
    CHECK(Has(found(Cause::kCpu, true, slow, 0)->recommendation->code.pytorch,
              "ParallelMapper(node, fn, num_workers=2, method=\"process\")"));
    // What is slow is not what it calls: more workers would wait for the source.
    CHECK(patch(Cause::kBlocked, true, "train.py:13", 0) == Patch());
    CHECK_FALSE(found(Cause::kBlocked, false, "train.py:13", 2));
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

  TEST_CASE("job: a Keras data set in Python gets workers") {
    const auto advice = [](const char* settings) {
      CaseBuilder b;
      MakeJob(b, Cause::kUnknown);
      b.attribution.cpu.cores = 2;
      b.run.loaders[0].info.kind = "tf.data.Dataset";
      b.run.loaders[0].info.settings_json = settings;
      trace::StageInfo& stage = b.run.stages[b.IdOf("decode").value];
      stage.kind = "Generator";
      const auto found = b.FindingOf("serial-source");
      REQUIRE(found);
      return found->text + "; " + found->recommendation->text;
    };
    const auto data = advice(R"({"py_dataset_workers":1,"py_dataset_processes":false})");
    CHECK(Has(data, "the job's PyDataset, which has 1 thread"));
    CHECK(Has(data, "workers=2, use_multiprocessing=True"));
    CHECK(Has(advice(R"({"py_dataset_workers":3,"py_dataset_processes":true})"),
              "which has 3 worker processes; load in processes: workers=6"));
    CHECK(Has(advice("{}"), "is a Python generator"));
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

  TEST_CASE("job: the workers that fetch collate as well") {
    CaseBuilder b;
    MakeJob(b, Cause::kOrder);
    b.run.stages[b.IdOf("batch").value].loader = LoaderId{0};
    b.UseOf("batch").runs_in = b.IdOf("decode");
    b.UseOf("batch").workers = 1;
    b.Stall("batch", Cause::kCpu, 0.3);
    bool found = false;
    for (const findings::Finding& finding : b.Find()) {
      if (finding.id != "loader-workers") continue;
      found = true;
      CHECK(finding.text.find("waiting for batch, with 1 worker busy") != std::string::npos);
    }
    CHECK(found);
  }

  TEST_CASE("job: one change of the workers is one finding, for all stages that it speeds up") {
    CaseBuilder b;
    MakeJob(b, Cause::kCpu);
    b.run.stages[b.IdOf("batch").value].loader = LoaderId{0};
    b.UseOf("batch").runs_in = b.IdOf("decode");
    b.Stall("batch", Cause::kCpu, 0.2);
    int count = 0;
    for (const findings::Finding& finding : b.Find()) {
      if (finding.id != "loader-workers") continue;
      ++count;
      CHECK(finding.stage == b.IdOf("decode"));
      CHECK(finding.text.find("waiting for decode and batch, with ") != std::string::npos);
      CHECK(finding.evidence.size() == 2);
    }
    CHECK(count == 1);
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
