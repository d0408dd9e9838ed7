// Slows one stage of a running pipeline on purpose, for the causal check of a recording: its
// elements take a fraction of their own work longer, and whoever recorded sees what the throughput
// does then.
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

  // What was added to a stage since it was chosen.
  struct Paid {
    uint64_t elements = 0;
    uint64_t work_ns = 0;   // of these elements
    uint64_t delay_ns = 0;  // as long as the delays took: a burn waits for cores, like the work
  };
  // What one thread still has to wait for one stage: small delays are paid together.
  struct Debt {
    int64_t burn_ns = 0;
    int64_t sleep_ns = 0;
  };

  // --- One thread ---

  // Adds up what the stages work, without delays, until the next choice.
  void Watch();
  // From now on this stage takes `by` of its work longer; None: no stage.
  void Choose(StageId stage, double by);
  // Of the stage chosen last.
  Paid paid() const;
  // Of all its threads while Watch() was on. Only the first kStages stages are watched.
  int64_t watched_ns(StageId stage) const;
  static constexpr uint32_t kStages = 64;

  // --- Any thread ---

  Mode ModeOf(StageId stage) const {
    const uint32_t chosen = chosen_.load(std::memory_order_relaxed);
    if (chosen == kNobody) return Mode::kOff;
    return chosen == stage.value ? Mode::kSlow : (chosen == kEverybody ? Mode::kWatch : Mode::kOff);
  }
  void Watched(StageId stage, int64_t work_ns);
  // After an element's work, on the thread that did it; `cpu_share` of the work was on the CPU.
  void Delay(StageId stage, int64_t work_ns, double cpu_share, Debt& debt);
  // A delay of the stage that its caller made.
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
