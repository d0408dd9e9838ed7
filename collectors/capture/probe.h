// The causal check of a recording (after Coz): short windows, in random order, slow one stage at a
// time on purpose, and the trace records when, which and by how much. The loss of throughput shows
// how much the stage bounds the run; analyzer/attribution/probe.h analyzes it.
//
// The windows are in the second half of the run, one after the other, so that the first half shows
// the run as it is. While a stage is slowed by a quarter of its work the run loses at most a fifth
// of its speed, and every other window is undisturbed: the check costs at most a twentieth of the
// run.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "analyzer/base/ids.h"
#include "analyzer/base/result.h"
#include "analyzer/base/thread.h"
#include "collectors/pipeline/slow_down.h"
#include "collectors/recorder/recorder.h"

namespace stallscope::capture {

// How much longer a slowed stage's work takes.
constexpr double kSlowedBy = 0.25;

// How the rest of a run is divided into windows.
struct ProbePlan {
  int64_t window_ns = 0;
  // One per window; None: undisturbed. Each slowed window is between two undisturbed ones. Each
  // round has every stage once, in a random order. Empty: too little time for one round.
  std::vector<StageId> windows;
};

// `left_ns` is the time until the run ends, `step_ns` the time of a step. A window has at least 8
// steps and 100 ms; if 8 rounds leave time, windows become up to three times as long.
ProbePlan PlanProbe(std::vector<StageId> stages, int64_t left_ns, int64_t step_ns, uint64_t seed);

// A stage that works for less than this share of the watched time cannot bound the run, and gets no
// window.
constexpr double kLeastWork = 0.03;

// Slows the stages of one recording by plan, from its own thread. `steps`: of the whole run; 0:
// unknown, so the windows begin after 4 s of steps and take at most 12 s. Any thread may call
// OnStep(), only the owner's the rest.
class Prober {
 public:
  Prober(recorder::Recorder& recorder, pipeline::SlowDown& slow_down, int64_t steps, uint64_t seed);
  ~Prober();  // ends the window
  Prober(const Prober&) = delete;
  Prober& operator=(const Prober&) = delete;

  // The trainer's stage, which is always slowed too, however little it works. Before Start().
  void SetTrainer(StageId trainer) { trainer_.store(trainer.value); }
  Status Start();
  void OnStep(uint64_t steps);
  void Stop();
  // What a user should know; after Stop().
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  void Run();
  // Waits for step `steps` or, if that is 0, until `ns` after the first step. False: the run ends.
  bool WaitFor(uint64_t steps, int64_t ns);
  bool WaitUntil(int64_t ns);
  std::vector<StageId> StagesWorth(int64_t watched_ns) const;
  void RunWindows(const ProbePlan& plan);

  recorder::Recorder& recorder_;
  pipeline::SlowDown& slow_down_;
  const uint64_t steps_;
  const uint64_t seed_;
  std::atomic<uint32_t> trainer_{StageId::None().value};
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopped_ = false;
  uint64_t done_ = 0;
  int64_t first_step_ns_ = 0;
  int64_t last_step_ns_ = 0;
  std::vector<std::string> notes_;
  ThreadGroup thread_;  // last: it uses the others
};

}  // namespace stallscope::capture
