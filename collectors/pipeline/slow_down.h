// Slows one stage of a running pipeline on purpose, for the causal check of a recording: its
// elements take longer by a fraction of their own work, and the trace shows how the throughput
// reacts.
//
// One thread chooses the stage; the threads that work ask and pay. A stage that burns CPU is slowed
// by burning, one that waits by sleeping, in proportion: a sleep would give away the core that the
// stage's own work would have kept. While no stage is chosen, an element costs one relaxed load.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "analyzer/base/ids.h"

namespace stallscope::pipeline {

class SlowDown {
 public:
  enum class Mode : uint8_t { kOff, kWatch, kSlow };

  // The delays added to a stage since it was chosen.
  struct Paid {
    uint64_t elements = 0;
    uint64_t work_ns = 0;   // of these elements
    uint64_t delay_ns = 0;  // elapsed time of the delays: a burn waits for cores, as the work does
  };
  // The delay that one thread still owes for one stage: small delays are paid together.
  struct Debt {
    int64_t burn_ns = 0;
    int64_t sleep_ns = 0;
  };

  // --- One thread ---

  // Adds up the work of the stages, without delays, until the next choice.
  void Watch();
  // From now on this stage takes longer by `by` of its work; None: no stage.
  void Choose(StageId stage, double by);
  // For the stage chosen last.
  Paid paid() const;
  // The work of all its threads while Watch() was on. Only the first kStages stages are watched.
  int64_t watched_ns(StageId stage) const;
  static constexpr uint32_t kStages = 64;

  // --- Any thread ---

  Mode ModeOf(StageId stage) const {
    const uint32_t chosen = chosen_.load(std::memory_order_relaxed);
    if (chosen == kNobody) return Mode::kOff;
    return chosen == stage.value ? Mode::kSlow : (chosen == kEverybody ? Mode::kWatch : Mode::kOff);
  }
  void Watched(StageId stage, int64_t work_ns);
  // To be called after an element's work, on the same thread; `cpu_share` of the work was on the
  // CPU.
  void Delay(StageId stage, int64_t work_ns, double cpu_share, Debt& debt);
  // Counts a delay of the stage that the caller made itself.
  void Delayed(StageId stage, int64_t ns);

 private:
  static constexpr uint32_t kNobody = StageId::None().value;
  static constexpr uint32_t kEverybody = kNobody - 1;

  void Burn(StageId stage, Debt& debt) const;
  void Sleep(StageId stage, Debt& debt) const;
  bool Slows(StageId stage) const { return ModeOf(stage) == Mode::kSlow; }

  std::atomic<uint32_t> chosen_{kNobody};
  std::atomic<double> by_{0};
  std::atomic<uint64_t> elements_{0};
  std::atomic<uint64_t> work_ns_{0};
  std::atomic<uint64_t> delay_ns_{0};
  std::array<std::atomic<int64_t>, kStages> watched_ns_{};
};

}  // namespace stallscope::pipeline
