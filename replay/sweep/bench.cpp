#include "replay/sweep/bench.h"

#include <algorithm>
#include <utility>

#include "analyzer/attribution/summary.h"
#include "analyzer/base/clock.h"
#include "analyzer/base/units.h"
#include "analyzer/findings/findings.h"
#include "analyzer/model/job_spec.h"
#include "replay/sweep/host_turn.h"
#include "replay/workload/build_workload.h"

namespace stallscope::replay {
namespace {

Outcome Stopped() {
  Outcome outcome;
  outcome.stopped = true;
  return outcome;
}

Outcome Failed(Error error) {
  Outcome outcome;
  outcome.failed = std::move(error);
  return outcome;
}

}  // namespace

Result<Outcome> OutcomeOf(Rerun rerun) {
  if (!rerun.attribution.throughput.has_value()) {
    return Error{ErrorKind::kRun, "the run has no throughput: too few steps", "",
                 model::IsJob(rerun.run) ? "raise --steps, or record a job that trains longer"
                                         : "provide more data, or raise trainer.steps"};
  }
  Outcome outcome;
  const attribution::Throughput& rate = *rerun.attribution.throughput;
  outcome.figure.rate = {rate.samples_per_s, rate.low, rate.high};
  outcome.figure.steps = rerun.run.rows.steps.size();
  outcome.figure.memory_bytes = rerun.attribution.memory.peak_rss_bytes.value_or(0);
  outcome.figure.host = rerun.run.info.host.name;
  outcome.figure.others = rerun.attribution.cpu.OthersDisturb() ? *rerun.attribution.cpu.others : 0;
  outcome.figure.from_disk = attribution::ShareFromDisk(rerun.attribution.cpu);
  outcome.digest = rerun.run.info.digest;
  outcome.verdict = findings::VerdictOn(rerun.run, rerun.attribution).text;
  outcome.summary = compare::Summarise(rerun.run, rerun.attribution);
  outcome.rerun = std::move(rerun);
  return outcome;
}

Result<Outcome> LiveBench::Measure(const Spec& spec, const RunWish& wish) {
  bool waiting = false;
  int64_t told_ns = 0;
  const auto look = [&] {
    const int64_t now = MonotonicNs();
    if (wish.tell && now - told_ns >= kNsPerSecond) {
      told_ns = now;
      wish.tell(waiting);
    }
    return wish.stop_requested && wish.stop_requested();
  };
  STALLSCOPE_ASSIGN_OR_RETURN(const auto turn,
                              HostTurn::Await(look, [&waiting] { waiting = true; }));
  waiting = false;
  if (!turn.has_value()) return Stopped();
  RerunOptions options = options_;
  options.cores = wish.cores;
  options.digest = wish.digest;
  options.probe = wish.probe;
  options.keep = wish.keep;
  // A run in this process asks from a thread of its own.
  options.stop_requested = look;
  if (options.program.empty()) options.stop_requested = wish.stop_requested;
  auto rerun = RunSpec(spec, options);
  if (!rerun.ok()) return Failed(std::move(rerun).error());
  if (rerun.value().stopped) return Stopped();
  auto outcome = OutcomeOf(std::move(rerun).value());
  const bool asked = options.page_cache != PageCache::kAsItIs || options.first_epoch;
  if (outcome.ok() && asked) outcome.value().figure.from_disk = 0;
  return outcome.ok() ? std::move(outcome).value() : Failed(std::move(outcome).error());
}

}  // namespace stallscope::replay
