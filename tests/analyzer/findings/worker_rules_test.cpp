// What the rules say of the workers of a job's loaders.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "tests/analyzer/findings/job_case.h"
#include "tests/support/program.h"

namespace stallscope::test {

using attribution::Cause;

TEST_SUITE("fast") {
  TEST_CASE("job: more workers download more at once, but choose no more indices") {
    CaseBuilder b;
    MakeJob(b, Cause::kIo);
    b.run.stages[b.IdOf("decode").value].kind = "source";
    CHECK(b.FindingOf("loader-workers"));
    // The trainer's own thread: a sampler.
    RunInTrainer(b);
    CHECK_FALSE(b.FindingOf("loader-workers"));
  }

  TEST_CASE("job: a single worker helps only beside a trainer that works") {
    const auto found = [](double share) {
      CaseBuilder b;
      MakeJob(b, Cause::kCpu, share);
      b.run.loaders[0].info.settings_json = R"({"num_workers":0,"shards":1})";
      RunInTrainer(b);
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

  TEST_CASE("job: processes that load in threads of a math library get one each") {
    const auto found = [](const char* id, bool workers, double beside) {
      CaseBuilder b;
      MakeJob(b, Cause::kCpu, 0.8);
      if (!workers) {
        b.run.loaders[0].info.settings_json = R"({"num_workers":0})";
        RunInTrainer(b);
      }
      b.attribution.cpu.cores = 2;
      b.attribution.cpu.process_busy = 1.95;
      b.attribution.cpu.loading = 1;
      b.attribution.cpu.beside_loading = beside;
      return b.FindingOf(id);
    };
    const auto without = found("loader-workers", false, 0.9);
    REQUIRE(without);
    CHECK(without->recommendation->patch ==
          Patch{{SetTo("loader.num_workers", int64_t{2}), SetTo("job.threads", int64_t{1})}});
    CHECK(Has(without->recommendation->text,
              "one such thread each: num_workers=2, and OPENBLAS_NUM_THREADS=1"));
    CHECK(found("loader-workers", false, 0.4)->recommendation->patch ==
          Patch{{SetTo("loader.num_workers", int64_t{2})}});
    const auto with = found("cpu-limit", true, 0.9);
    REQUIRE(with);
    CHECK(with->recommendation->patch == Patch{{SetTo("job.threads", int64_t{1})}});
    CHECK(found("cpu-limit", true, 0.4)->recommendation->patch == Patch());
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
      RunInTrainer(b);
      b.attribution.blame.push_back({b.IdOf("decode"), Cause::kCpuContention, 1, lacks});
      return b.FindingOf("loader-workers")->text;
    };
    CHECK(Has(text(0.2), "spends 50.0% of step time in decode, including 20.0% without a core:"));
    CHECK(Has(text(0.01), "spends 30.0% of step time in decode: num_workers is 0"));
  }

  TEST_CASE("job: workers for a loader that evaluates, where that takes long") {
    const auto found = [](double evaluation, double share) {
      CaseBuilder b;
      MakeJob(b, Cause::kCpu, 0);
      b.run.loaders[0].info.settings_json = R"({"num_workers":0})";
      RunInTrainer(b);
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

  TEST_CASE("job: loaders that are constructed alike for each evaluation get their advice once") {
    const auto found = [](uint32_t line_of_second) {
      CaseBuilder b;
      MakeJob(b, Cause::kCpu, 0);
      b.run.loaders[0].info.settings_json = R"({"num_workers":0})";
      b.run.loaders[0].info.file = "/u/train.py";
      b.run.loaders[0].info.line = 5;
      b.run.loaders.push_back(b.run.loaders[0]);
      b.run.loaders[1].info.line = line_of_second;
      trace::StageInfo& other = b.run.stages[b.IdOf("batch").value];
      other.loader = LoaderId{1};
      other.kind = "map";
      RunInTrainer(b);
      for (const char* const stage : {"decode", "batch"}) {
        b.UseOf(stage).utilization = 0.2;
        b.UseOf(stage).elements = 10;
        b.UseOf(stage).runs_in = b.IdOf("trainer");
      }
      b.attribution.beside = {{"evaluation", 40, 1, 0.5}};
      std::vector<std::string> texts;
      for (const auto& finding : b.Find()) {
        if (finding.id == "loader-workers") texts.push_back(finding.text);
      }
      return texts;
    };
    const auto alike = found(5);
    REQUIRE(alike.size() == 1);
    CHECK(Has(alike[0],
              "80.0% of it goes to decode, and to those of 1 loader like it, in the job's own"));
    CHECK(found(9).size() == 2);
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
    // They share the interpreter lock; processes are another call of the job's.
    const auto behind = found(Cause::kCpu, false, threads);
    REQUIRE(behind);
    CHECK(Has(behind->recommendation->text, "load in 2 processes"));
    CHECK(Has(behind->recommendation->code.grain, "mp_prefetch"));
    CHECK(behind->recommendation->patch == Patch());
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

  TEST_CASE("job: no workers where sending takes longer than what they do") {
    const auto advice = [](double work_ms) {
      CaseBuilder b;
      MakeJob(b, Cause::kCpu);
      b.run.stages[b.IdOf("decode").value].kind = "transport";
      b.UseOf("decode").service_ns.mean = 40e6;
      trace::StageInfo& fetch = b.run.stages[b.IdOf("batch").value];
      fetch.loader = LoaderId{0};
      fetch.kind = "map";
      b.UseOf("batch").service_ns.mean = work_ms * 1e6;
      const auto found = b.FindingOf("transport");
      REQUIRE(found);
      CHECK_FALSE(Has(found->recommendation->unpriced, "at most about"));
      return *found->recommendation;
    };
    CHECK(advice(30).patch == Patch{{SetTo("loader.num_workers", int64_t{0})}});
    CHECK(Has(advice(30).text, "in the job's own process"));
    CHECK(advice(35).patch == Patch());
    CHECK(Has(advice(35).text, "send less"));
  }

  TEST_CASE("job: a Keras data set in Python gets workers") {
    const auto advice = [](const char* settings, Cause cause = Cause::kUnknown) {
      CaseBuilder b;
      MakeJob(b, cause);
      b.attribution.cpu.cores = 2;
      b.run.loaders[0].info.kind = "tf.data.Dataset";
      b.run.loaders[0].info.settings_json = settings;
      trace::StageInfo& stage = b.run.stages[b.IdOf("decode").value];
      stage.kind = "Generator";
      const auto found = b.FindingOf("serial-source");
      CHECK_FALSE(b.FindingOf("prefetch"));
      REQUIRE(found);
      return found->text + "; " + found->recommendation->text;
    };
    const auto data = advice(R"({"py_dataset_workers":1,"py_dataset_processes":false})");
    CHECK(Has(data, "the job's PyDataset, which has 1 thread"));
    CHECK(Has(data, "workers=2, use_multiprocessing=True"));
    CHECK(Has(advice(R"({"py_dataset_workers":3,"py_dataset_processes":true})"),
              "which has 3 worker processes; load in processes: workers=6"));
    // What waits needs no processes: for 40% of a step, beside 60% of computing.
    const auto waits = advice(R"({"py_dataset_workers":1})", Cause::kBlocked);
    CHECK(Has(waits, "load in threads: workers=2 where"));
    CHECK(Has(advice(R"({"py_dataset_workers":4})", Cause::kBlocked),
              "load in threads: workers=8 where"));
    CHECK(Has(advice(R"({"py_dataset_workers":4,"py_dataset_processes":true})", Cause::kBlocked),
              "load in processes: workers=8, use_multiprocessing=True where"));
    // Bursts are those of a queue that Keras has; the graph is Keras's, too.
    CHECK(Has(advice(R"({"py_dataset":"Data","py_dataset_workers":4,"graph":[{"op":"FlatMap"}]})",
                     Cause::kBuffer),
              "which has 4 threads; load in processes: workers=2"));
    CHECK(Has(advice("{}"), "is a Python generator"));
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

}  // namespace stallscope::test
