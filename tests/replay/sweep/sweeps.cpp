#include "tests/replay/sweep/sweeps.h"

#include <doctest/doctest.h>

#include "analyzer/spec/knobs.h"
#include "analyzer/spec/spec_json.h"
#include "replay/sweep/plan.h"

namespace stallscope::test {

Spec SpecFrom(const std::string& json) {
  auto spec = ReadSpec(json, "test");
  REQUIRE_MESSAGE(spec.ok(), spec.error().Line());
  return std::move(spec).value();
}

Spec SweepSpec() {
  return SpecFrom(R"~({"name": "small", "seed": 3, "stages": [
    {"name": "read", "source": {"format": "synthetic", "elements": 100000, "bytes": 96}},
    {"name": "decode", "map": {"ops": ["sleep(4000)"], "parallelism": 2}},
    {"name": "batch", "batch": {"size": 4, "drop_remainder": true}},
    {"name": "ready", "prefetch": {"buffer_size": 2}}],
    "trainer": {"device": "emulated", "steps": 40, "emulated": {"compute_us_per_batch": 2000}}})~");
}

Spec JobSpecOfTest() {
  Spec spec;
  spec.name = "train.py";
  spec.stages = {{"loader", LoaderSpec{.num_workers = 2, .batch_size = 16}}};
  spec.job.steps = 40;
  return spec;
}

replay::Sweep PlannedGrid(replay::SweepMode mode, unsigned repeats) {
  model::Run run;
  run.path = "run.sst";
  run.info.start_realtime_ns = 1'700'000'000'000'000'000;
  replay::Sweep sweep = replay::SweepOf(run, SweepSpec());
  sweep.mode = mode;
  sweep.repeats = repeats;
  replay::PlanGrid(SweepSpec(), {{"decode.parallelism", {"1", "2", "4"}}}, {}, sweep);
  return sweep;
}

Result<replay::Outcome> FakeBench::Measure(const Spec& spec, const replay::RunWish& wish) {
  if (before) before(asked.size());
  if (broken.has_value()) return *broken;
  asked.push_back(GetKnob(spec, IsJob(spec) ? "loader.num_workers" : "decode.parallelism").value());
  digests.push_back(wish.digest);
  probes.push_back(wish.probe);
  replay::Outcome outcome;
  outcome.stopped = stop;
  const double rate = rate_(spec, wish.cores);
  if (rate < 0) {
    outcome.failed = Error{ErrorKind::kRun, "it fell over", "", ""};
    return outcome;
  }
  outcome.figure = {
      {rate, rate * 0.99, rate * 1.01}, 40, memory ? memory(spec) : 1'000'000, "here"};
  if (others) outcome.figure.others = others(asked.size() - 1);
  if (from_disk) outcome.figure.from_disk = from_disk(asked.size() - 1);
  if (fills && fills(asked.size() - 1, spec)) {
    model::Run& run = outcome.rerun.run;
    run.stages.emplace_back();
    run.stages.back().id = StageId{0};
    run.stages.back().name = "kept";
    for (const int64_t time_ns : {int64_t{0}, int64_t{50'000'000}}) {
      run.rows.cache_events.emplace_back();
      run.rows.cache_events.back().stage = StageId{0};
      run.rows.cache_events.back().op = trace::CacheOp::kFill;
      run.rows.cache_events.back().time_ns = time_ns;
    }
  }
  if (wish.digest) outcome.digest = digest;
  outcome.verdict = "balanced";
  outcome.summary.samples_per_s = rate;
  outcome.summary.step_ms.assign(40, 4'000 / rate);
  outcome.summary.samples.assign(40, 4);
  return outcome;
}

int64_t DecodeWorkers(const Spec& spec) {
  return std::get<MapSpec>(spec.stages[1].kind).parallelism.value;
}

}  // namespace stallscope::test
