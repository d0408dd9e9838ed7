// Chooses what the spec leaves to "auto", while the pipeline runs.
//
// Every tenth of a second it looks for the bottleneck: stages whose workers are busy nearly all the
// time while the next stage waits. As long as the process leaves cores idle, all of them get more
// workers at once: if two stages are equally slow, more workers for one alone would show nothing.
// Their workers double while less than half of the cores is in use, since a worker that waits (a
// sleep, a disk, a network) uses none. Once all cores are in use, only the busiest stage gets one
// more, up to one worker beyond the cores. A change that does not pay off within half a second is
// undone, and after the second time in a row the stage is settled. A buffer that was both empty and
// full within one look is too small for its bursts, and doubles. Each change is recorded; the notes
// list the final choices, and when they were made.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/base/thread.h"
#include "collectors/pipeline/stage.h"

namespace stallscope::pipeline {

// What a tunable stage has done since the start.
struct TunerLoad {
  uint64_t busy_ticks = 0;
  uint64_t times_empty = 0;  // the stage behind it found nothing
  uint64_t times_full = 0;
};

struct Tunable {
  std::string path;  // "decode.parallelism"
  int64_t value = 1;
  int64_t most = 1;
  bool buffer = false;  // doubles; else it is a number of workers
  std::function<void(int64_t)> set;
  std::function<TunerLoad()> load;
};

struct TunerLimits {
  int64_t cores = 1;
  uint64_t memory_bytes = 0;  // 0: no limit
};

// The decisions, apart from threads and clocks: what a test needs.
class TunerPolicy {
 public:
  TunerPolicy(std::vector<Tunable> tunables, TunerLimits limits);

  struct Look {
    double seconds = 0;  // since the start
    uint64_t ticks = 0;
    uint64_t elements = 0;  // delivered
    uint64_t memory_bytes = 0;
    double cpu_seconds = 0;  // of the process, since any fixed time
  };
  struct Change {
    std::string path;
    int64_t old_value = 0;
    int64_t new_value = 0;
  };
  std::vector<Change> Step(const Look& look);

  bool settled() const;
  // "auto set decode.parallelism to 2 after 0.7 s"
  std::vector<std::string> Notes() const;

 private:
  struct State {
    Tunable tunable;
    TunerLoad last;
    TunerLoad now;
    int failed_trials = 0;  // in a row
    bool settled = false;
    double changed_at = 0;
    double busy(uint64_t ticks) const;
  };
  struct Trial {
    struct Old {
      size_t state = 0;
      int64_t value = 0;
    };
    std::vector<Old> old;
    double rate_before = 0;
    double began = 0;
    uint64_t elements = 0;
  };
  std::vector<Change> Judge(const Look& look);
  Change Set(State& state, int64_t value, const Look& look);
  // `used_cores`: by the process since the last look.
  std::vector<Change> Grow(const Look& look, uint64_t ticks, double used_cores);
  bool MemoryLeft(const Look& look) const;

  std::vector<State> states_;
  const TunerLimits limits_;
  std::optional<Look> last_;
  std::optional<Trial> trial_;
  double rate_ = 0;  // elements per second, over the last looks
};

// Runs a policy every tenth of a second until it is destroyed. Without a thread the pipeline fails.
class Tuner {
 public:
  Tuner(std::vector<Tunable> tunables, TunerLimits limits, StageContext& context,
        std::function<uint64_t()> elements);
  ~Tuner();
  Tuner(const Tuner&) = delete;
  Tuner& operator=(const Tuner&) = delete;

  std::vector<std::string> Notes() const;  // any thread

 private:
  void Run();

  mutable std::mutex mutex_;
  std::vector<std::string> notes_;
  TunerPolicy policy_;
  StageContext& context_;
  const std::function<uint64_t()> elements_;
  CancelToken stop_;
  ThreadGroup thread_;
};

}  // namespace stallscope::pipeline
