#include "analyzer/model/join.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "analyzer/model/graph.h"
#include "analyzer/model/profiled.h"
#include "analyzer/model/saver.h"
#include "tests/support/loaded_run.h"

using namespace stallscope;
using stallscope::test::ScratchDir;
using stallscope::test::TraceBuilder;

namespace {

constexpr int64_t kEpoch = 1'700'000'000'000'000'000;  // where the profile's clock begins

void Named(TraceBuilder& trace, TrackId track, const std::string& name, int64_t start_ns,
           int64_t end_ns) {
  trace.rows().AddSpan(track,
                       {trace::SpanKind::kWork,
                        {},
                        trace::WaitCause::kUnknown,
                        {},
                        trace.Text(name),
                        trace::SpanActivity::kAnnotation},
                       start_ns, end_ns, {});
}

// Steps of 100 from 1000 on. Its loader is a tf.data graph, or else its stages are recorded.
model::Run JobRun(bool tf_data, const std::string& graph = "[]") {
  TraceBuilder trace;
  trace.run.job.command = {"python", "train.py"};
  trace.run.start_ns = 500;
  trace.run.start_realtime_ns = kEpoch + 500;
  trace.run.device = {};
  const ProcessId process = trace.Process("train.py", 700);
  trace::LoaderInfo loader;
  loader.process = process;
  loader.kind = tf_data ? "tf.data.Dataset" : "DataLoader";
  loader.settings_json = R"({"graph": )" + graph + "}";
  trace.loader = trace.Loader(loader);
  const StageId stage = tf_data ? trace.Stage("tf.data", "tf.data") : trace.Stage("fetch", "map");
  trace.Queue("loader", 0, stage);
  trace.loader = {};
  const StageId trainer = trace.Stage("trainer", "trainer", 1, {stage});
  const TrackId main = trace.Thread("main", trainer, process);
  for (uint64_t i = 0; i < 10; ++i) {
    const auto at = static_cast<int64_t>(1000 + 100 * i);
    trace.rows().Add(trace::Step{i, at, at + 10, at + 10, at + 100, ItemId{i}, main, 0, 0});
  }
  trace.Seal(3000);
  return LoadedRun(trace);
}

struct ProfileShape {
  std::vector<int64_t> marks = {1200, 1500};
  bool wall_clock = false;
  int64_t late_ns = 0;  // of each mark, after reading the clock
};

// A profile from 1200 to 1500 on the job's clock.
model::Run ProfileRun(const ProfileShape& shape = {}) {
  TraceBuilder trace;
  trace.run.start_ns = kEpoch + 1200;
  trace.run.start_realtime_ns = shape.wall_clock ? kEpoch + 1200 : 0;
  trace.run.device = {"gpu", "A device", 0, ""};
  trace.run.imported_from = "xplane";
  const StageId map = trace.Stage("ParallelMapV2", "ParallelMapV2", 2);
  const StageId prefetch = trace.Stage("Prefetch", "Prefetch", 1, {map});
  const QueueId queue = trace.Queue("Prefetch", 4, prefetch);
  const StageId trainer = trace.Stage("trainer", "trainer", 1, {prefetch});
  const TrackId worker = trace.Thread("tf_data", map);
  const TrackId python = trace.Thread("python", trainer);
  const TrackId stream = trace.Stream("Stream #7");
  for (const int64_t mark : shape.marks) {
    const int64_t at = kEpoch + mark + shape.late_ns * (mark / 100 % 7);
    Named(trace, python, "stallscope@" + std::to_string(mark), at, at + 1);
  }
  trace.Work(worker, map, kEpoch + 1210, kEpoch + 1250);
  trace.Wait(python, trace::WaitCause::kEmpty, queue, kEpoch + 1200, kEpoch + 1250);
  trace::Kernel kernel;
  kernel.enqueued_ns = kEpoch + 1260;
  kernel.start_ns = kEpoch + 1270;
  kernel.end_ns = kEpoch + 1390;
  kernel.track = stream;
  kernel.name = trace.Text("gemm");
  trace.rows().Add(kernel);
  kernel.enqueued_ns = 0;  // before the recording
  kernel.start_ns = kEpoch + 1205;
  kernel.end_ns = kEpoch + 1206;
  trace.rows().Add(kernel);
  trace.rows().Add(trace::Step{
      0, kEpoch + 1200, kEpoch + 1250, kEpoch + 1260, kEpoch + 1390, {}, python, 16, 0});
  trace.Seal(kEpoch + 1500);
  model::Run run = LoadedRun(trace);
  run.format = "xplane";
  return run;
}

// A profile of two maps with a shuffle in between, one of which it may not see.
model::Run ProfileOfMaps(bool first, bool second) {
  TraceBuilder trace;
  trace.run.start_ns = kEpoch + 1200;
  trace.run.imported_from = "xplane";
  std::vector<StageId> maps;
  if (first) maps.push_back(trace.Stage("Map", "Map"));
  if (second) maps.push_back(trace.Stage(first ? "Map 2" : "Map", "Map", 1, maps));
  const StageId trainer = trace.Stage("trainer", "trainer", 1, {maps.back()});
  const TrackId python = trace.Thread("python", trainer);
  Named(trace, python, "stallscope@1200", kEpoch + 1200, kEpoch + 1201);
  for (size_t i = 0; i < maps.size(); ++i) {
    const int64_t at = kEpoch + 1210 + 20 * static_cast<int64_t>(i);
    trace.Work(python, maps[i], at, at + 10);
  }
  trace.Seal(kEpoch + 1500);
  model::Run run = LoadedRun(trace);
  run.format = "xplane";
  if (first) run.stages[maps.front().value].settings[trace::kNearerTrainer] = "1";
  return run;
}

// The functions of the work in a job's run, by time.
std::vector<std::string> OpsIn(const model::Run& run) {
  std::vector<std::string> names;
  for (const model::Track& track : run.tracks) {
    for (size_t i = 0; i < track.spans.size(); ++i) {
      const trace::SpanClass& what = run.ClassOf(track, i);
      if (what.activity == trace::SpanActivity::kOp) names.emplace_back(run.Text(what.name));
    }
  }
  return names;
}

const model::ProfileWindow kWindow{700, 1200, 1500};

StageId StageNamed(const model::Run& run, std::string_view name) {
  for (const trace::StageInfo& stage : run.stages) {
    if (stage.name == name) return stage.id;
  }
  return StageId::None();
}

bool HasSpanNamed(const model::Run& run, std::string_view start) {
  for (const model::Track& track : run.tracks) {
    for (size_t i = 0; i < track.spans.size(); ++i) {
      if (run.Text(run.ClassOf(track, i).name).starts_with(start)) return true;
    }
  }
  return false;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("join: marks bring a profile onto the run's clock") {
    model::Run run = JobRun(false);
    REQUIRE(model::JoinProfile(ProfileRun(), kWindow, run).ok());
    REQUIRE(run.rows.kernels.size() == 2);
    CHECK(run.rows.kernels[0].enqueued_ns == 1260);
    CHECK(run.rows.kernels[0].start_ns == 1270);
    CHECK(run.rows.kernels[0].end_ns == 1390);
    CHECK(run.rows.kernels[1].enqueued_ns == 0);
    CHECK(run.Text(run.rows.kernels[0].name) == "gemm");
    const model::Track& stream = run.tracks[run.rows.kernels[0].track.value];
    CHECK(stream.info.name == "Stream #7");
    CHECK(stream.info.process == ProcessId{0});
    CHECK(run.info.device.name == "A device");
    CHECK_FALSE(HasSpanNamed(run, "stallscope@"));
    CHECK(run.quality.warnings.empty());
  }

  TEST_CASE("join: a mark that began late does not move the profile") {
    const model::Run late = ProfileRun({.marks = {1200, 1300, 1400}, .late_ns = 5});
    // 1400 is late by nothing, 1200 by 25.
    CHECK(model::ShiftByMarks(late, kWindow) == -kEpoch);
  }

  TEST_CASE("join: without marks the wall clocks count, and a warning says so") {
    model::Run run = JobRun(false);
    REQUIRE(model::JoinProfile(ProfileRun({.marks = {}, .wall_clock = true}), kWindow, run).ok());
    CHECK(run.rows.kernels[0].start_ns == 1270);
    REQUIRE(run.quality.warnings.size() == 1);
    CHECK(run.quality.warnings[0].find("wall-clock time") != std::string::npos);
  }

  TEST_CASE("join: a profile that cannot be placed in time is left out") {
    model::Run run = JobRun(false);
    const size_t tracks = run.tracks.size();
    SUBCASE("neither marks nor a wall clock") {
      CHECK_FALSE(model::JoinProfile(ProfileRun({.marks = {}}), kWindow, run).ok());
    }
    SUBCASE("marks that contradict each other") {
      CHECK_FALSE(model::JoinProfile(ProfileRun({.late_ns = 1000}), kWindow, run).ok());
    }
    SUBCASE("another window's times") {
      CHECK_FALSE(model::JoinProfile(ProfileRun(), {700, 1700, 1900}, run).ok());
    }
    CHECK(run.tracks.size() == tracks);
    CHECK(run.rows.kernels.empty());
    CHECK(run.stages.size() == 2);
  }

  TEST_CASE("join: steps of the window get the time at which their device work was done") {
    model::Run run = JobRun(false);
    REQUIRE(model::JoinProfile(ProfileRun(), kWindow, run).ok());
    CHECK(run.rows.steps[2].issued_ns == 1260);
    CHECK(run.rows.steps[2].device_done_ns == 1390);
    CHECK(run.rows.steps[3].device_done_ns == 1400);
    CHECK(run.rows.steps.size() == 10);
  }

  TEST_CASE("join: a recorded pipeline stays as it is") {
    model::Run run = JobRun(false);
    REQUIRE(model::JoinProfile(ProfileRun(), kWindow, run).ok());
    CHECK(run.stages.size() == 2);
    CHECK_FALSE(run.imported());
    CHECK(run.rows.steps[2].track == TrackId{0});
  }

  TEST_CASE("join: an unseen pipeline becomes the profile's") {
    model::Run run = JobRun(true);
    REQUIRE(model::JoinProfile(ProfileRun(), kWindow, run).ok());
    CHECK(run.info.imported_from == "xplane");
    REQUIRE(run.stages.size() == 3);
    CHECK(run.stages[0].name == "Prefetch");
    CHECK(run.stages[0].loader == LoaderId{0});
    CHECK(run.stages[1].name == "trainer");
    const StageId map = StageNamed(run, "ParallelMapV2");
    CHECK(run.stages[map.value].workers == 2);
    CHECK(run.stages[map.value].loader == LoaderId{0});
    CHECK(run.stages[0].inputs == std::vector<StageId>{map});
    CHECK(run.queues[run.stages[0].queue.value].info.capacity == 4);
    // The steps are the run's own, and say whose waits are theirs.
    CHECK(run.rows.steps.size() == 10);
    CHECK(run.NameOf(run.rows.steps[2].track) == "python");
    CHECK(run.NameOf(run.rows.steps[9].track) == "main");
    CHECK(run.rows.steps[9].samples == 16);
  }

  TEST_CASE("join: a stage's work belongs to the function that its graph node calls") {
    const auto ops = [](const std::string& graph) {
      model::Run run = JobRun(true, graph);
      REQUIRE(model::JoinProfile(ProfileRun(), kWindow, run).ok());
      std::vector<std::string> names;
      for (const model::Track& track : run.tracks) {
        for (size_t i = 0; i < track.spans.size(); ++i) {
          const trace::SpanClass& what = run.ClassOf(track, i);
          if (what.activity != trace::SpanActivity::kOp) continue;
          names.emplace_back(run.Text(what.name));
          CHECK(run.NameOf(what.stage) == "ParallelMapV2");
          CHECK(track.spans.start_ns[i] == 1210);
          CHECK(track.spans.EndNs(i) == 1250);
        }
      }
      return names;
    };
    const std::string decode = R"({"op": "ParallelMap", "function": "decode"})";
    CHECK(ops("[" + decode + R"(, {"op": "Prefetch"}])") == std::vector<std::string>{"decode"});
    // Two maps: this one cannot be identified.
    CHECK(ops("[" + decode + R"(, {"op": "Map", "function": "flip"}])").empty());
    CHECK(ops(R"([{"op": "ParallelMap"}])").empty());
    CHECK(ops("5").empty());
    CHECK(ops(R"([5, {"op": 5, "function": 5}, {"op": "Map", "function": 5}])").empty());
  }

  TEST_CASE("join: the job's setting limits a stage's workers") {
    const auto workers = [](const std::string& calls) {
      model::Run run = JobRun(true, R"([{"op": "ParallelMap", "num_parallel_calls": )" + calls +
                                        R"(}, {"op": "Prefetch"}])");
      REQUIRE(model::JoinProfile(ProfileRun(), kWindow, run).ok());
      const auto map = std::find_if(run.stages.begin(), run.stages.end(), [](const auto& stage) {
        return stage.kind == "ParallelMapV2";
      });
      REQUIRE(map != run.stages.end());
      return map->workers;
    };
    CHECK(workers("1") == 1);
    CHECK(workers("8") == 2);
    CHECK(workers(R"("autotune")") == 2);
    CHECK(workers("0") == 2);
    CHECK(workers("1.5") == 2);
  }

  TEST_CASE("join: two maps are matched with their functions by their order") {
    model::Run run = JobRun(true);
    run.loaders[0].info.settings_json =
        R"({"graph": [{"op": "Map", "function": "a"}, {"op": "Map", "function": "b"}]})";
    trace::StageInfo& first = run.stages[0];
    first.kind = "Map";
    trace::StageInfo second = first;
    second.id = StageId{static_cast<uint32_t>(run.stages.size())};
    second.inputs = {first.id};
    run.stages.push_back(second);
    CHECK(model::NodeOf(run, run.stages[0])->function == "a");
    CHECK(model::NodeOf(run, run.stages.back())->function == "b");
    run.stages.pop_back();
    CHECK_FALSE(model::NodeOf(run, run.stages[0]).has_value());
  }

  TEST_CASE("join: a later window that sees one of two maps names the right one") {
    const auto joined = [](std::vector<std::pair<bool, bool>> seen) {
      model::Run run = JobRun(
          true, R"([{"op": "Map", "function": "parse"}, {"op": "Map", "function": "augment"}])");
      for (const auto& [first, second] : seen) {
        REQUIRE(model::JoinProfile(ProfileOfMaps(first, second), kWindow, run).ok());
      }
      return run;
    };
    using Names = std::vector<std::string>;
    CHECK(OpsIn(joined({{true, true}, {false, true}})) == Names{"parse", "augment", "augment"});
    CHECK(OpsIn(joined({{true, true}, {true, false}})) == Names{"parse", "augment", "parse"});
    // The second one is named first, and alone cannot be matched with a function.
    const model::Run run = joined({{false, true}, {true, true}});
    CHECK(OpsIn(run) == Names{"parse", "augment"});
    CHECK(run.stages.size() == 3);
    CHECK(StageNamed(run, "Map") != StageNamed(run, "Map 2"));
    CHECK(run.stages[StageNamed(run, "Map").value].inputs == std::vector{StageNamed(run, "Map 2")});
  }

  TEST_CASE("join: a later window adds to the same stages and tracks") {
    model::Run run = JobRun(true);
    REQUIRE(model::JoinProfile(ProfileRun(), kWindow, run).ok());
    const size_t tracks = run.tracks.size();
    REQUIRE(model::JoinProfile(ProfileRun(), kWindow, run).ok());
    CHECK(run.tracks.size() == tracks);
    CHECK(run.stages.size() == 3);
    CHECK(run.rows.kernels.size() == 4);
  }

  TEST_CASE("join: a joined run is the same after it was saved") {
    ScratchDir dir;
    model::Run run = JobRun(true);
    REQUIRE(model::JoinProfile(ProfileRun(), kWindow, run).ok());
    REQUIRE(model::SaveTrace(run, dir / "joined.sst").ok());
    const model::Run read = model::LoadTrace(dir / "joined.sst").value();
    CHECK(read.rows.steps == run.rows.steps);
    REQUIRE(read.rows.kernels.size() == run.rows.kernels.size());
    CHECK(read.rows.kernels[0].end_ns == run.rows.kernels[0].end_ns);
    CHECK(read.Text(read.rows.kernels[0].name) == "gemm");
    CHECK(read.stages == run.stages);
    CHECK(read.info == run.info);
    CHECK(read.tracks.size() == run.tracks.size());
    CHECK(read.quality.sealed);
  }

  TEST_CASE("join: drops of the recording are still reported after a join") {
    ScratchDir dir;
    TraceBuilder trace;
    const TrackId track = trace.Thread("main");
    trace.Work(track, StageId::None(), 10, 20);
    trace.Seal(3000, {{track, 4, 1, 3}});
    const model::Run run = LoadedRun(trace);
    REQUIRE(model::SaveTrace(run, dir / "again.sst").ok());
    const model::Run read = model::LoadTrace(dir / "again.sst").value();
    CHECK(read.quality.dropped == 3);
    CHECK(read.quality.emitted == 4);
    CHECK(read.quality.write_error.empty());
  }

  TEST_CASE("profiled: a profiler that was never stopped is open until the end") {
    TraceBuilder trace;
    const TrackId main = trace.Thread("main");
    Named(trace, main, std::string(model::kProfilerStart), 100, 120);
    Named(trace, main, std::string(model::kProfilerStop), 200, 250);
    Named(trace, main, std::string(model::kProfilerStart), 2300, 2310);
    trace.run.start_ns = 1;
    trace.Seal(3000);
    const auto stretches = model::ProfiledStretches(LoadedRun(trace));
    REQUIRE(stretches.size() == 2);
    CHECK(stretches[0].start_ns == 100);
    CHECK(stretches[0].open.start_ns == 120);
    CHECK(stretches[0].open.end_ns == 200);
    CHECK(stretches[0].end_ns == 250);
    CHECK(stretches[0].closed);
    CHECK(stretches[1].open.end_ns == 3000);
    CHECK_FALSE(stretches[1].closed);
  }

  TEST_CASE("profiled: the job's own annotations do not count") {
    TraceBuilder trace;
    Named(trace, trace.Thread("main"), "profiler start", 100, 120);
    trace.Seal(3000);
    CHECK(model::ProfiledStretches(LoadedRun(trace)).empty());
  }
}
