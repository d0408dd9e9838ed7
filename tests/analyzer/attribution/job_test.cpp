// Stalls of a job: explained through its worker processes, down to the op.
#include <doctest/doctest.h>

#include <utility>

#include "analyzer/attribution/groundwork.h"
#include "tests/analyzer/attribution/run_builder.h"

using namespace stallscope;
using namespace stallscope::attribution;
using test::RunBuilder;
using trace::WaitCause;

namespace {

constexpr uint64_t kAwaited = 1000;

// A loader with two workers.
struct JobScene : RunBuilder {
  StageId sampler = Stage("sampler", "source");
  StageId fetch = Stage("fetch", "map", 2, true, {sampler});
  StageId transport = Stage("transport", "transport", 2, true, {fetch});
  StageId loader = Stage("loader", "prefetch", 2, true, {transport});
  StageId trainer = Stage("trainer", "trainer", 1, true, {loader});
  QueueId queue = Queue("loader", 4, loader);
  TrackId main = Thread("train.py", trainer);
  TrackId worker = Thread("worker 0", fetch);
  TrackId other = Thread("worker 1", fetch);

  JobScene() {
    for (const StageId stage : {sampler, fetch, transport, loader}) {
      run.stages[stage.value].loader = LoaderId{0};
    }
  }

  // One step that is a stall from 0 to 100: nothing is relabeled `buffer`.
  void Stall() {
    Step({.index = 0,
          .requested = 0,
          .received = 100,
          .done = 100,
          .batch = kAwaited,
          .track = main});
  }
  // From 200 to 250, with 10 of a stall.
  void NextStep() {
    Step({.index = 1,
          .requested = 200,
          .received = 210,
          .done = 250,
          .batch = kAwaited + 1,
          .track = main});
  }
  // The thread in which a worker's process sends; the others have processes of their own.
  TrackId Feeder() {
    const TrackId feeder = Thread("worker 0 feeder", transport);
    run.tracks[main.value].info.process = ProcessId{0};
    for (const TrackId track : {worker, feeder})
      run.tracks[track.value].info.process = ProcessId{1};
    run.tracks[other.value].info.process = ProcessId{2};
    return feeder;
  }
  Attribution Explain() {
    Stall();
    taken = Take();
    return Attribute(taken);
  }
  int64_t Blamed(const Attribution& attribution, StageId stage, Cause cause) const {
    for (const Blame& blame : attribution.blame) {
      if (blame.stage == stage && blame.cause == cause) return blame.ns;
    }
    return 0;
  }
  model::Run taken;
};

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("job: sampling, fetching and both ends of the transport explain a stall") {
    JobScene s;
    s.Work(s.main, s.sampler, 0, 10, {.item = kAwaited, .cpu = 10});
    s.Work(s.worker, s.fetch, 10, 70, {.item = kAwaited, .cpu = 60});
    s.Work(s.worker, s.transport, 70, 90, {.item = kAwaited, .cpu = 20});
    s.Wait(s.main, WaitCause::kEmpty, s.queue, 10, 90);
    s.Work(s.main, s.transport, 90, 100, {.item = kAwaited, .cpu = 10});
    const Attribution attribution = s.Explain();
    CHECK(s.Blamed(attribution, s.sampler, Cause::kCpu) == 10);
    CHECK(s.Blamed(attribution, s.fetch, Cause::kCpu) == 60);
    CHECK(s.Blamed(attribution, s.transport, Cause::kCpu) == 30);
  }

  TEST_CASE("job: a worker that was busy with an earlier batch") {
    JobScene s;
    s.Work(s.main, s.sampler, -20, -10, {.item = kAwaited, .cpu = 10});
    s.run.info.start_ns = -30;
    s.Work(s.worker, s.fetch, -10, 50, {.item = 999, .cpu = 6});
    s.Work(s.worker, s.fetch, 50, 100, {.item = kAwaited, .cpu = 5});
    s.Wait(s.main, WaitCause::kEmpty, s.queue, 0, 100);
    const Attribution attribution = s.Explain();
    CHECK(s.Blamed(attribution, s.fetch, Cause::kBlocked) == 90);
    CHECK(s.Blamed(attribution, s.fetch, Cause::kCpu) == 10);
  }

  TEST_CASE("job: workers that start explain the wait, whatever the batch did then") {
    JobScene s;
    s.Work(s.worker, s.fetch, 30, 100, {.item = kAwaited, .cpu = 70});
    s.Wait(s.main, WaitCause::kStartup, s.queue, 0, 60);
    s.Wait(s.main, WaitCause::kEmpty, s.queue, 60, 100);
    const Attribution attribution = s.Explain();
    CHECK(s.Blamed(attribution, s.loader, Cause::kStartup) == 60);
    CHECK(s.Blamed(attribution, s.fetch, Cause::kCpu) == 40);
    CHECK(WordFor(Cause::kStartup) == "startup");
  }

  TEST_CASE("job: workers that start or end between two steps are a stall, other waits are not") {
    const auto stalled = [](WaitCause cause) {
      JobScene s;
      s.run.info.job.command = {"python", "train.py"};
      s.Wait(s.main, cause, s.queue, 110, 190);  // the loop is left at 110, in the step
      s.NextStep();
      const Attribution attribution = s.Explain();
      const auto& stall = attribution.breakdown[At(Category::kInputStall)];
      REQUIRE(stall.has_value());
      int64_t blamed = 0;
      for (const Blame& blame : attribution.blame) blamed += blame.ns;
      CHECK(blamed == stall->ns);
      return std::pair(stall->ns, s.Blamed(attribution, s.loader, Cause::kStartup));
    };
    CHECK(stalled(WaitCause::kStartup) == std::pair<int64_t, int64_t>(100 + 80 + 10, 80));
    CHECK(stalled(WaitCause::kEmpty) == std::pair<int64_t, int64_t>(100 + 10, 0));
  }

  TEST_CASE("job: a step that takes a batch of each of two loaders waits for each of them") {
    // For kOther until 30; then the trainer works on that until 50, and waits for kAwaited.
    constexpr uint64_t kOther = uint64_t{1} << 48 | 1000;
    const auto stalled = [](bool together) {
      JobScene s;
      s.run.info.job.command = {"python", "train.py"};
      const StageId second = s.Stage("loader2.fetch", "map", 1);
      s.run.stages[second.value].loader = LoaderId{1};
      const TrackId another = s.Thread("worker 0 of loader2", second);
      s.Work(another, second, 0, 30, {.item = kOther, .cpu = 30});
      // It is no reason for the first wait that the second batch is made meanwhile.
      s.Work(s.worker, s.fetch, 5, 28, {.item = kAwaited, .cpu = 23});
      s.Work(s.worker, s.transport, 90, 100, {.item = kAwaited, .cpu = 10});
      s.Work(s.worker, s.fetch, 28, 90, {.item = kAwaited, .cpu = 62});
      s.Work(s.main, s.trainer, 30, 50, {.item = kAwaited, .cpu = 20});
      s.run.rows.releases.push_back({30, 30, ItemId{kOther}, s.loader});
      if (together) {
        s.run.rows.lineage.push_back({ItemId{kOther}, ItemId{kAwaited}, s.trainer});
      }
      const Attribution attribution = s.Explain();
      CHECK(s.Blamed(attribution, s.transport, Cause::kCpu) == 10);
      return std::pair(s.Blamed(attribution, second, Cause::kCpu),
                       s.Blamed(attribution, s.fetch, Cause::kCpu));
    };
    CHECK(stalled(true) == std::pair<int64_t, int64_t>(30, 40));
    CHECK(stalled(false).first == 0);
  }

  TEST_CASE("job: a sampler that draws between two steps is a stall, unless for an evaluation") {
    const auto drawn = [](uint64_t steps) {
      JobScene s;
      s.run.info.job.command = {"python", "train.py"};
      model::Loader loader;
      loader.info.id = LoaderId{0};
      loader.steps = steps;
      s.run.loaders.push_back(loader);
      s.Work(s.main, s.sampler, 110, 190, {.item = kAwaited + 1, .cpu = 80});
      s.NextStep();
      const Attribution attribution = s.Explain();
      return std::pair(attribution.breakdown[At(Category::kInputStall)]->ns,
                       s.Blamed(attribution, s.sampler, Cause::kCpu));
    };
    const auto trained = drawn(2);
    CHECK(trained.first == 100 + 80 + 10);
    CHECK(trained.second == 80 + 10);  // and nothing else is known of what the next step waits for
    const auto evaluated = drawn(0);
    CHECK(evaluated.first == 100 + 10);
    CHECK(evaluated.second == 10);
  }

  TEST_CASE("job: evaluation and checkpoints have names and times, and are no stall") {
    JobScene s;
    s.run.info.job.command = {"python", "train.py"};
    const TrackId beside = s.Thread("train.py, beside");
    s.run.tracks[beside.value].info.kind = trace::TrackKind::kDetail;
    s.Named(beside, "evaluation", trace::SpanActivity::kEvaluation, 110, 150);
    s.Named(beside, "evaluation", trace::SpanActivity::kEvaluation, 150, 180);
    s.Named(beside, "checkpoint", trace::SpanActivity::kEvaluation, 180, 190);
    s.NextStep();
    const Attribution attribution = s.Explain();
    REQUIRE(attribution.beside.size() == 2);
    CHECK(attribution.beside[0].name == "evaluation");
    CHECK(attribution.beside[0].count == 2);
    CHECK(attribution.beside[0].ns == 70);
    CHECK(attribution.beside[0].fraction ==
          doctest::Approx(70.0 / static_cast<double>(attribution.window.ns())));
    CHECK(attribution.beside[1].name == "checkpoint");
    CHECK(attribution.beside[1].ns == 10);
    CHECK(attribution.breakdown[At(Category::kInputStall)]->ns == 100 + 10);
  }

  TEST_CASE("job: a transport that waits for the interpreter is explained by who has it") {
    JobScene s;
    const TrackId feeder = s.Feeder();
    s.Work(s.worker, s.fetch, 0, 20, {.item = kAwaited, .cpu = 20});
    s.Work(s.worker, s.fetch, 20, 90, {.item = 1001, .cpu = 70});
    s.Work(s.other, s.fetch, 0, 100, {.item = 1002, .cpu = 100});  // another interpreter
    s.Work(feeder, s.transport, 20, 60, {.item = kAwaited, .cpu = 4});
    s.Wait(s.main, WaitCause::kEmpty, s.queue, 0, 60);
    s.Work(s.main, s.transport, 60, 100, {.item = kAwaited, .cpu = 5});
    const Attribution attribution = s.Explain();
    // 20 of its own; all 36 that the sender was off the CPU; 30 of the receiver's 35.
    CHECK(s.Blamed(attribution, s.fetch, Cause::kCpu) == 86);
    CHECK(s.Blamed(attribution, s.transport, Cause::kCpu) == 9);
    CHECK(s.Blamed(attribution, s.transport, Cause::kBlocked) == 5);
  }

  TEST_CASE("job: a transport that waits for another one's pickling is bound by the CPU") {
    JobScene s;
    const TrackId feeder = s.Feeder();
    s.Work(feeder, s.transport, 0, 20, {.item = kAwaited, .cpu = 20});
    s.Work(feeder, s.transport, 20, 90, {.item = 1001, .cpu = 70});
    s.Wait(s.main, WaitCause::kEmpty, s.queue, 0, 20);
    s.Work(s.main, s.transport, 20, 100, {.item = kAwaited, .cpu = 10});
    const Attribution attribution = s.Explain();
    // All of the sender's; 10 of its own, and the 70 off the CPU while the next one is pickled.
    CHECK(s.Blamed(attribution, s.transport, Cause::kCpu) == 100);
    CHECK(s.Blamed(attribution, s.transport, Cause::kBlocked) == 0);
  }

  TEST_CASE("job: threads that take turns on one core wait for the interpreter") {
    const auto explain = [](uint64_t cpu, const char* kind) {
      JobScene s;
      s.run.loaders.resize(1);
      s.run.loaders[0].info.kind = kind;
      const TrackId second = s.Thread("worker 0, second thread", s.fetch);
      s.Work(s.worker, s.fetch, 0, 100, {.item = kAwaited, .cpu = 20});
      s.Work(second, s.fetch, 0, 100, {.item = 1001, .cpu = cpu});
      s.Wait(s.main, WaitCause::kEmpty, s.queue, 0, 100);
      for (const TrackId track : {s.worker, second})
        s.run.tracks[track.value].info.process = ProcessId{1};
      s.run.tracks[s.main.value].info.process = ProcessId{0};
      const Attribution attribution = s.Explain();
      return s.Blamed(attribution, s.fetch, Cause::kBlocked);
    };
    CHECK(explain(78, "grain.Iterator") <= 2);
    CHECK(explain(30, "grain.Iterator") == 80);   // the lock is free for half of the time
    CHECK(explain(98, "grain.Iterator") == 80);   // more than one core: without the lock
    CHECK(explain(78, "tf.data.Dataset") == 80);  // native code
  }

  TEST_CASE("job: what threads do ahead of the trainer's own work is not what it waits for") {
    for (const auto& [wait, cpu] : {std::pair(20, 1), std::pair(60, 1), std::pair(20, 50)}) {
      const bool completes = wait == 20 && cpu == 1;
      JobScene s;
      const trace::StringId read = s.Text("read");
      const trace::StringId map = s.Text("map");
      const auto used = static_cast<uint64_t>(cpu);
      s.Op(s.worker, s.fetch, read, 0, 100, {.cpu = used});
      s.Work(s.worker, s.fetch, 0, 100, {.item = kAwaited, .cpu = used});
      s.Wait(s.main, WaitCause::kEmpty, s.queue, 0, wait);
      s.Op(s.main, s.fetch, map, wait, 100, {.cpu = 40});
      s.Work(s.main, s.fetch, wait, 100, {.item = kAwaited, .cpu = 40});
      const Attribution attribution = s.Explain();
      const StageUse& fetch = attribution.stages[s.fetch.value];
      CHECK(fetch.ops.size() == (completes ? 1 : 2));
      CHECK(fetch.ops[0].name == (completes ? "map" : "read"));
      CHECK(fetch.busy_ns == 200 - wait - (completes ? 100 : 0));
      if (completes) CHECK(fetch.runs_in == s.trainer);
      if (completes) CHECK(fetch.workers == 1);
    }
  }

  TEST_CASE("job: order, where the other worker has no room to go on") {
    JobScene s;
    s.Work(s.worker, s.fetch, 0, 100, {.item = kAwaited, .cpu = 100});
    s.Wait(s.other, WaitCause::kFull, s.queue, 20, 100);
    s.Wait(s.main, WaitCause::kEmpty, s.queue, 0, 100);
    const Attribution attribution = s.Explain();
    CHECK(s.Blamed(attribution, s.fetch, Cause::kOrder) == 80);
    CHECK(s.Blamed(attribution, s.fetch, Cause::kCpu) == 20);
  }

  TEST_CASE("job: no order, where batches are handed out as they come") {
    JobScene s;
    s.run.stages[s.fetch.value].ordered = false;
    s.Work(s.worker, s.fetch, 0, 100, {.item = kAwaited, .cpu = 100});
    s.Wait(s.other, WaitCause::kFull, s.queue, 20, 100);
    s.Wait(s.main, WaitCause::kEmpty, s.queue, 0, 100);
    const Attribution attribution = s.Explain();
    CHECK(s.Blamed(attribution, s.fetch, Cause::kCpu) == 100);
  }

  TEST_CASE("job: ops are parts of their stage, largest first, without those inside them") {
    JobScene s;
    const trace::StringId item = s.Text("__getitem__");
    const trace::StringId resize = s.Text("Resize");
    s.run.ops.push_back({"Resize", "/u/train.py", 12});
    s.run.code_lines = {{"/u/train.py", 12, {{13, 100, 5}, {14, 300, 5}, {15, 0, 5}}},
                        {"/u/train.py", 40, {{41, 999, 1}}}};
    s.Op(s.worker, s.fetch, resize, 20, 60, {.cpu = 40});
    s.Op(s.worker, s.fetch, item, 10, 80, {.cpu = 55});
    s.Work(s.worker, s.fetch, 0, 100, {.item = kAwaited, .cpu = 75});
    const Attribution attribution = s.Explain();
    const StageUse& fetch = attribution.stages[s.fetch.value];
    REQUIRE(fetch.ops.size() == 2);
    CHECK(fetch.ops[0].name == "Resize");
    CHECK(fetch.ops[0].file == "/u/train.py");
    CHECK(fetch.ops[0].line == 12);
    CHECK(fetch.ops[0].count == 1);
    CHECK(fetch.ops[0].ns == 40);
    CHECK(fetch.ops[0].cpu_ns == 40);
    REQUIRE(fetch.ops[0].lines.size() == 2);  // largest first
    CHECK(fetch.ops[0].lines[0].line == 14);
    CHECK(fetch.ops[0].lines[0].share == doctest::Approx(0.75));
    CHECK(fetch.ops[0].lines[0].samples == 5);
    CHECK(fetch.ops[0].lines[1].line == 13);
    CHECK(fetch.ops[1].lines.empty());
    CHECK(fetch.ops[1].name == "__getitem__");
    CHECK(fetch.ops[1].file.empty());
    CHECK(fetch.ops[1].ns == 30);
    CHECK(fetch.ops[1].cpu_ns == 15);
    CHECK(fetch.elements == 1);
    CHECK(fetch.service_ns.mean == doctest::Approx(100));
    CHECK(fetch.busy_ns == 100);
    CHECK(fetch.sampled_ns == 100);
  }

  TEST_CASE("job: ops of the whole run, where the window has none of the stage that loads most") {
    for (const bool within : {false, true}) {
      JobScene s;
      const trace::StringId resize = s.Text("Resize");
      s.run.ops.push_back({"Resize", "/u/train.py", 12});
      if (within) s.Op(s.worker, s.fetch, s.Text("__getitem__"), 10, 80);
      s.Work(s.worker, s.fetch, 0, 100, {.item = kAwaited, .cpu = 75});
      s.Op(s.worker, s.fetch, resize, 120, 160, {.cpu = 40});
      s.Work(s.worker, s.fetch, 110, 200, {.item = kAwaited + 1, .cpu = 75});
      const Attribution attribution = s.Explain();
      const StageUse& fetch = attribution.stages[s.fetch.value];
      REQUIRE(fetch.ops.size() == 1);
      CHECK(fetch.ops[0].name == (within ? "__getitem__" : "Resize"));
      CHECK(fetch.ops[0].ns == (within ? 70 : 40));
      CHECK(fetch.sampled_ns == (within ? 100 : 90));
      CHECK(fetch.busy_ns == 100);
      CHECK(fetch.elements == 1);
    }
  }

  TEST_CASE("job: the chain of a stall leads to the op") {
    JobScene s;
    const trace::StringId resize = s.Text("Resize");
    s.run.ops.push_back({"Resize", "/u/train.py", 12});
    s.Op(s.worker, s.fetch, resize, 20, 60, {.cpu = 40});
    s.Work(s.worker, s.fetch, 0, 100, {.item = kAwaited, .cpu = 50});
    s.Wait(s.main, WaitCause::kEmpty, s.queue, 0, 100);
    s.Stall();
    const model::Run run = s.Take();
    const auto links = ExplainStall(*LayGroundwork(run, 1), 0, 1);
    REQUIRE(links);
    int64_t in_op = 0;
    for (const ChainLink& link : *links) {
      if (!link.op.known()) continue;
      CHECK(link.track == s.worker);
      REQUIRE(run.OpOf(link.op) != nullptr);
      CHECK(run.OpOf(link.op)->line == 12);
      in_op += link.end_ns - link.start_ns;
    }
    CHECK(in_op == 40);
    CHECK(run.OpOf(trace::StringId::None()) == nullptr);
  }

  TEST_CASE("job: transport has several spans per batch, and passes on batches") {
    JobScene s;
    s.Work(s.worker, s.fetch, 0, 70, {.item = kAwaited, .cpu = 60});
    s.Work(s.worker, s.transport, 70, 90, {.item = kAwaited, .cpu = 20});
    s.Work(s.main, s.transport, 90, 100, {.item = kAwaited, .cpu = 10});
    const Attribution attribution = s.Explain();
    CHECK(attribution.stages[s.transport.value].elements == 2);
    CHECK(attribution.stages[s.transport.value].passed == 1);
    CHECK(attribution.stages[s.loader.value].passed == 1);
  }

  TEST_CASE("job: what each process used, over its whole life") {
    JobScene s;
    s.run.processes = {{.id = ProcessId{0}, .name = "train.py", .pid = 7},
                       {.id = ProcessId{1}, .name = "worker 0", .pid = 8}};
    const auto sample = [&](const char* name, ProcessId process, std::vector<double> values) {
      const CounterId id{static_cast<uint32_t>(s.run.counters.size())};
      s.run.counters.push_back({id, name, "", process});
      int64_t at = 0;
      for (const double value : values) s.run.rows.samples.push_back({at += 10, value, id});
    };
    sample("process7.cpu", ProcessId{0}, {10, 30});
    sample("process8.cpu", ProcessId{1}, {5, 50});
    sample("process8.rss", ProcessId{1}, {300, 900, 200});
    sample("process8.private", ProcessId{1}, {100, 400, 300});
    sample("process8.io_requested", ProcessId{1}, {70});
    sample("thread9.run_wait", ProcessId{1}, {4, 6});
    sample("thread10.run_wait", ProcessId{1}, {3, 2});  // its number was used again
    sample("cpu.busy", ProcessId::None(), {1, 2});
    const Attribution attribution = s.Explain();
    REQUIRE(attribution.processes.size() == 2);
    CHECK(attribution.processes[0].cpu_ns == 30);
    CHECK_FALSE(attribution.processes[0].peak_rss_bytes.has_value());
    const ProcessUse& worker = attribution.processes[1];
    CHECK(worker.cpu_ns == 50);
    CHECK(worker.run_wait_ns == 11);
    CHECK(worker.read_bytes == 70);
    CHECK_FALSE(worker.disk_bytes.has_value());
    CHECK(worker.peak_rss_bytes == 900);
    CHECK(worker.peak_private_bytes == 400);
  }

  TEST_CASE("job: the loader gets nothing ready while the job evaluates between two passes") {
    // Passes of four steps, in each of which the trainer waits 100 for the only worker.
    const auto blame = [](bool passes) {
      RunBuilder b;
      b.run.info.job.command = {"python", "train.py"};
      const StageId fetch = b.Stage("fetch", "map", 1);
      const StageId trainer = b.Stage("trainer", "trainer", 1, true, {fetch});
      b.Queue("loader", 4, fetch);
      // It evaluates with another loader, without workers.
      const StageId evaluates = b.Stage("loader2.fetch", "map");
      b.run.stages[evaluates.value].loader = LoaderId{1};
      b.run.loaders.emplace_back().info.id = LoaderId{1};
      const TrackId worker = b.Thread("worker 0", fetch);
      const TrackId main = b.Thread("main", trainer);
      int64_t at = 0;
      for (uint64_t i = 0; i < 16; ++i) {
        const uint64_t batch = passes ? (i / 4) << 32U | i % 4 : i;
        b.Work(worker, fetch, at, at + 100, {.item = batch, .cpu = 100});
        b.Work(main, trainer, at + 100, at + 120, {.item = batch});
        b.Step({.index = i,
                .requested = at,
                .received = at + 100,
                .done = at + 120,
                .batch = batch,
                .track = main});
        if (i % 4 == 3) b.Work(main, evaluates, at + 120, at + 1120, {.cpu = 1000});
        at += i % 4 == 3 ? 1120 : 120;
      }
      const model::Run run = b.Take();
      return test::BlameText(run, Attribute(run));
    };
    CHECK(blame(true) == "fetch cpu 1600");
    CHECK(blame(false) == "fetch buffer 1600");
  }

  TEST_CASE("job: no queue holds ready what the loop's own thread does for a batch") {
    // It chooses indices for 30, or a thread does, and computes for 200.
    const auto blame = [](bool itself) {
      RunBuilder b;
      b.run.info.job.command = {"python", "train.py"};
      const StageId sampler = b.Stage("sampler", "source");
      const StageId fetch = b.Stage("fetch", "map", 1, true, {sampler});
      const StageId trainer = b.Stage("trainer", "trainer", 1, true, {fetch});
      b.Queue("loader", 4, fetch);
      const TrackId worker = b.Thread("worker 0", fetch);
      const TrackId other = b.Thread("sampler", sampler);
      const TrackId main = b.Thread("main", trainer);
      for (uint64_t i = 0; i < 8; ++i) {
        const int64_t at = static_cast<int64_t>(i) * 300;
        b.Work(itself ? main : other, sampler, at, at + 30, {.item = i, .cpu = 30});
        b.Work(worker, fetch, at + 30, at + 100, {.item = i, .cpu = 70});
        b.Work(main, trainer, at + 100, at + 300, {.item = i});
        b.Step({.index = i,
                .requested = at,
                .received = at + 100,
                .done = at + 300,
                .batch = i,
                .track = main});
      }
      const model::Run run = b.Take();
      return test::BlameText(run, Attribute(run));
    };
    CHECK(blame(true) == "fetch buffer 560, sampler cpu 240");
    CHECK(blame(false) == "fetch buffer 560, sampler buffer 240");
  }

  TEST_CASE("job: a larger queue does not help where receiving waits for a worker's lock") {
    // The worker fetches a batch for 170, the trainer receives it for 190 and computes for 10.
    const auto blame = [](uint64_t unpacks) {
      RunBuilder b;
      b.run.info.job.command = {"python", "train.py"};
      const StageId fetch = b.Stage("fetch", "map", 1, true, {});
      const StageId transport = b.Stage("transport", "transport", 1, true, {fetch});
      const StageId trainer = b.Stage("trainer", "trainer", 1, true, {transport});
      const QueueId queue = b.Queue("loader", 4, transport);
      const TrackId worker = b.Thread("worker 0", fetch);
      const TrackId main = b.Thread("main", trainer);
      for (uint64_t i = 0; i < 8; ++i) {
        const int64_t at = 100 + static_cast<int64_t>(i) * 300;
        b.Work(worker, fetch, at - 70, at + 100, {.item = i, .cpu = 170});
        b.Wait(main, WaitCause::kEmpty, queue, at, at + 100);
        b.Work(main, transport, at + 100, at + 290, {.item = i, .cpu = unpacks});
        b.Work(main, trainer, at + 290, at + 300, {.item = i});
        b.Step({.index = i,
                .requested = at,
                .received = at + 290,
                .done = at + 300,
                .batch = i,
                .track = main});
      }
      const model::Run run = b.Take();
      return test::BlameText(run, Attribute(run));
    };
    CHECK(blame(10).find("fetch cpu 800") != std::string::npos);
    CHECK(blame(190).find("fetch buffer 800") != std::string::npos);
  }
}
