// A profile of a job's window, from its file into the job's trace.
#include "replay/workbench/profiles.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>

#include "analyzer/model/loader.h"
#include "analyzer/model/profiled.h"
#include "replay/workbench/workbench.h"
#include "tests/support/made_space.h"
#include "tests/support/paths.h"
#include "tests/support/trace_builder.h"

using namespace stallscope;
using test::MadePlane;
using test::ScratchDir;
using test::TraceBuilder;

namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kEpoch = 1'700'000'000'000'000'000;
constexpr int64_t kFrom = 100 * kMs;
constexpr int64_t kTo = 200 * kMs;

// 30 steps of 10 ms from 0 on, as recorded in Keras's fit, without a wait of their own. The pool's
// threads are on a core for `pool` of the time, the trainer's for `on_cpu`, if that was recorded.
void WriteJob(const std::string& path, double on_cpu, double pool) {
  TraceBuilder trace;
  trace.run.job.command = {"python", "train.py"};
  trace.run.start_ns = 1;
  trace.run.start_realtime_ns = 0;
  trace.run.device = {};
  const ProcessId process = trace.Process("train.py", 700);
  trace::LoaderInfo loader;
  loader.process = process;
  loader.kind = "tf.data.Dataset";
  trace.loader = trace.Loader(loader);
  const StageId unseen = trace.Stage("tf.data", "tf.data");
  trace.Queue("tf.data", 0, unseen);
  trace.loader = {};
  const StageId trainer = trace.Stage("trainer", "trainer", 1, {unseen});
  const TrackId main = trace.Thread("main", trainer, process);
  const auto mark = [&](std::string_view name, int64_t start_ns, int64_t end_ns) {
    trace.rows().AddSpan(main,
                         {trace::SpanKind::kWork,
                          {},
                          trace::WaitCause::kUnknown,
                          {},
                          trace.Text(std::string(name)),
                          trace::SpanActivity::kAnnotation},
                         start_ns, end_ns, {});
  };
  mark(model::kProfilerStart, kFrom - kMs, kFrom);
  mark(model::kProfilerStop, kTo, kTo + kMs);
  for (uint64_t i = 0; i < 30; ++i) {
    const auto at = static_cast<int64_t>(10 * i) * kMs + 1;
    trace.rows().Add(trace::Step{i, at, at, at, at + 10 * kMs, ItemId{i}, main, 16, 0});
  }
  if (on_cpu >= 0) {
    const CounterId counter = trace.Counter("process700.pool_on_cpu", "ns", process);
    const CounterId wait = trace.Counter("process700.pool_run_wait", "ns", process);
    const CounterId of_main = trace.Counter(
        "thread" + std::to_string(trace.ThreadNumber(main)) + ".on_cpu", "ns", process);
    for (int64_t at = 0; at <= 300 * kMs; at += 20 * kMs) {
      trace.rows().Add(trace::Sample{at + 1, 0, wait});
      trace.rows().Add(trace::Sample{at + 1, on_cpu * static_cast<double>(at), of_main});
      trace.rows().Add(trace::Sample{at + 1, pool * static_cast<double>(at), counter});
    }
  }
  trace.Seal(301 * kMs);
  trace.Write(path);
}

// In each step the trainer asks for a batch for 8 ms, while a thread maps for 7 of them.
std::string Profile(bool marks = true) {
  MadePlane host("/host:CPU");
  const auto ps = [](int64_t ns) { return static_cast<uint64_t>(ns) * 1000; };
  std::string python;
  std::string pool;
  if (marks) python += host.Event("stallscope@" + std::to_string(kFrom), ps(kFrom), 1000);
  for (int64_t at = kFrom; at < kTo; at += 10 * kMs) {
    python += host.Event("IteratorGetNextOp::DoCompute", ps(at + kMs / 2), ps(8 * kMs));
    python += host.Event("Iterator::Root::Prefetch", ps(at + kMs / 2 + 1000), ps(8 * kMs - 2000));
    pool += host.Event("Iterator::Root::Prefetch::Map", ps(at + kMs), ps(7 * kMs));
  }
  host.Line(1000, "python", kEpoch, python);
  host.Line(1001, "tf_data_iterator", kEpoch, pool);
  return host.Bytes();
}

// An event of another thread in each step.
struct OtherWork {
  const char* name;
  int64_t at_ms;
  int64_t ms;
};

// In each step the trainer's thread asks for a batch for `asks_ms`, and maps itself.
std::string ProfileOfOneThread(int64_t asks_ms, std::optional<OtherWork> other = {}) {
  MadePlane host("/host:CPU");
  const auto ps = [](int64_t ns) { return static_cast<uint64_t>(ns) * 1000; };
  std::string python = host.Event("stallscope@" + std::to_string(kFrom), ps(kFrom), 1000);
  std::string pool;
  for (int64_t at = kFrom; at < kTo; at += 10 * kMs) {
    python += host.Event("IteratorGetNextOp::DoCompute", ps(at + kMs / 2), ps(asks_ms * kMs));
    python += host.Event("Iterator::Root::Map", ps(at + kMs / 2 + 1000), ps(asks_ms * kMs - 2000));
    if (other) pool += host.Event(other->name, ps(at + other->at_ms * kMs), ps(other->ms * kMs));
  }
  host.Line(7'777'777, "python", kEpoch, python);
  if (other) host.Line(7'777'778, "tf_Compute", kEpoch, pool);
  return host.Bytes();
}

struct Joined {
  ScratchDir dir;
  std::string trace = dir / "run.sst";
  explicit Joined(double on_cpu = -1) : Joined(on_cpu, on_cpu) {}
  Joined(double on_cpu, double pool) { WriteJob(trace, on_cpu, pool); }
  model::Run With(const std::string& bytes) {
    const std::string path = dir / "700.1.0.profile";
    std::ofstream(path, std::ios::binary) << bytes;
    REQUIRE(workbench::JoinProfiles(trace, {{path, {700, kFrom, kTo}}}).ok());
    return model::LoadTrace(trace).value();
  }
  report::Report Analyzed() const {
    const auto opened = workbench::Open({trace});
    return workbench::Analyze(opened.value(), {.price = false});
  }
};

bool Warns(const model::Run& run, std::string_view what) {
  for (const std::string& warning : run.quality.warnings) {
    if (warning.find(what) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("profiles: a tf.data job's stalls are blamed on the stage that the profile shows") {
    Joined joined;
    const model::Run run = joined.With(Profile());
    CHECK(run.quality.warnings.empty());
    CHECK(run.rows.steps.size() == 30);
    const auto opened = workbench::Open({joined.trace});
    REQUIRE(opened.ok());
    const report::Report report = workbench::Analyze(opened.value(), {.price = false});
    CHECK(report.verdict.text.find("input-bound: Map") != std::string::npos);
    const auto& attribution = *opened.value().attribution;
    CHECK(attribution.window.start_ns >= kFrom);
    CHECK(attribution.window.end_ns <= kTo);
    CHECK(attribution.throughput->samples_per_s == doctest::Approx(1600).epsilon(0.01));
  }

  TEST_CASE("profiles: why the pool's work waited, from its threads' time on a core") {
    const auto analyzed = [](double on_cpu) {
      Joined joined(on_cpu);
      const model::Run run = joined.With(Profile());
      const bool unknown =
          std::any_of(run.info.limits.begin(), run.info.limits.end(),
                      [](const std::string& limit) { return limit.starts_with("stages.cpu_s"); });
      CHECK(unknown == (on_cpu < 0));
      return joined.Analyzed().verdict.text;
    };
    CHECK(analyzed(-1).find("Map (unknown)") != std::string::npos);
    CHECK(analyzed(0.7).find("Map (cpu)") != std::string::npos);  // it works for 7 ms of 10
    CHECK(analyzed(0.02).find("Map (blocked)") != std::string::npos);
  }

  TEST_CASE("profiles: pipeline work of the trainer's own thread, from its time on a core") {
    const auto analyzed = [](double on_cpu, int64_t asks_ms = 8) {
      Joined joined(on_cpu);
      joined.With(ProfileOfOneThread(asks_ms));
      return joined.Analyzed().verdict.text;
    };
    CHECK(analyzed(-1).find("Map (unknown)") != std::string::npos);
    CHECK(analyzed(0.99).find("Map (cpu)") != std::string::npos);
    CHECK(analyzed(0.1).find("Map (blocked)") != std::string::npos);
    // Half of the time for each, and half of it on a core: in either, or in both.
    CHECK(analyzed(0.5, 5).find("Map (unknown)") != std::string::npos);
  }

  TEST_CASE("profiles: other threads compute for a pipeline in the trainer's thread") {
    // They work during the wait for a batch, or after it.
    const auto analyzed = [](double pool, int64_t works_at_ms) {
      Joined joined(0.02, pool);
      joined.With(ProfileOfOneThread(5, {{"ExecutorState::Process", works_at_ms, 4}}));
      return joined.Analyzed().verdict.text;
    };
    CHECK(analyzed(0.48, 1).find("Map (cpu)") != std::string::npos);
    CHECK(analyzed(0.48, 6).find("Map (blocked)") != std::string::npos);
    CHECK(analyzed(0.02, 1).find("Map (blocked)") != std::string::npos);
  }

  TEST_CASE("profiles: a Python function that only waits gets parallel calls") {
    const auto ids = [](double pool) {
      Joined joined(0.02, pool);
      joined.With(ProfileOfOneThread(8, {{"PyFunc:PyFunc", 1, 7}}));
      std::string all;
      for (const auto& row : joined.Analyzed().findings) all += row.id + " ";
      return all;
    };
    const std::string waits = ids(0.02);
    CHECK(waits.find("map-parallelism") != std::string::npos);
    CHECK(waits.find("serial-source") == std::string::npos);
    const std::string computes = ids(0.78);
    CHECK(computes.find("map-parallelism") == std::string::npos);
    CHECK(computes.find("serial-source") != std::string::npos);
  }

  TEST_CASE("profiles: a truncated file is joined as far as possible, or left out") {
    for (const double part : {0.0, 0.3, 0.9}) {
      Joined joined;
      std::string bytes = Profile();
      bytes.resize(static_cast<size_t>(static_cast<double>(bytes.size()) * part));
      const model::Run run = joined.With(bytes);
      CHECK(run.rows.steps.size() == 30);
      CHECK(Warns(run, "profiler"));
      CHECK(workbench::Open({joined.trace}).ok());
    }
  }

  TEST_CASE("profiles: one without marks or wall clock is left out, and the trace says so") {
    Joined joined;
    const model::Run run = joined.With(Profile(false));
    CHECK(Warns(run, "its clock cannot be matched to the run's"));
    CHECK(run.stages.size() == 2);
    CHECK_FALSE(run.imported());
    // It is then unknown when the trainer waited: no guess.
    CHECK(joined.Analyzed().verdict.text == "inconclusive");
  }

  TEST_CASE("profiles: a trace that cannot be read is an error") {
    ScratchDir dir;
    CHECK_FALSE(workbench::JoinProfiles(dir / "none.sst", {}).ok());
  }
}
