#include "replay/simulate/scheduler.h"

#include <cmath>
#include <utility>

#include "replay/simulate/model_constants.h"

namespace stallscope::replay {
namespace {

constexpr double kTieNs = 1;  // more than rounding errors

}  // namespace

Scheduler::Scheduler(double cores, size_t threads) : threads_(threads) {
  cores = std::max(cores, 0.01);
  const double whole = std::ceil(cores - 1e-9);
  cores_.resize(static_cast<size_t>(
      std::clamp(whole, 1.0, static_cast<double>(std::max<size_t>(threads, 1)))));
  speeds_.resize(cores_.size() + 1);
  for (size_t busy = 1; busy < speeds_.size(); ++busy) {
    const double share = cores / static_cast<double>(busy);
    if (share < 1) speeds_[busy] = {share, 1 / share};
  }
  parts_.push_back(0);
  for (size_t count = 1; count <= threads; ++count) {
    parts_.push_back(1 / static_cast<double>(count));
  }
  for (size_t core = cores_.size(); core-- > 0;) idle_.push_back(static_cast<uint32_t>(core));
}

void Scheduler::Account(Thread& thread) const {
  thread.ran += virtual_now_ - thread.started;
  thread.left = thread.end - virtual_now_;
  thread.started = virtual_now_;
}

double Scheduler::Average(const Core& core) const {
  const size_t waiting = core.queue.size();
  if (core.running == kNone) return core.ran * parts_[waiting];
  return (core.ran + threads_[core.running].ran) * parts_[waiting + 1];
}

// A thread that has run as long as the others has run longer a moment later: a thread that wakes
// another one on its own core often loses the core to it before going to sleep itself.
bool Scheduler::IsOwed(const Thread& running, double average) {
  return running.ran < average - kTieNs;
}

// Not std::floor, a call where the processor may lack the instruction.
double Scheduler::LastTick() const {
  return static_cast<double>(static_cast<int64_t>(now_ * (1 / kTickNs))) * kTickNs;
}

// Of those that ran no more than the average, the one whose slice ends first.
size_t Scheduler::Pick(const Core& core) const {
  const size_t waiting = core.queue.size();
  if (waiting == 1 && core.running == kNone) return 0;
  const double average = Average(core);
  size_t best = waiting;
  double deadline = kNever;
  size_t least = 0;  // should rounding leave nobody
  for (size_t i = 0; i < waiting; ++i) {
    const Thread& thread = threads_[core.queue[i]];
    if (thread.ran < threads_[core.queue[least]].ran) least = i;
    if (thread.ran > average + kTieNs || thread.deadline >= deadline) continue;
    best = i;
    deadline = thread.deadline;
  }
  if (core.running == kNone) return best == waiting ? least : best;
  const Thread& running = threads_[core.running];
  return IsOwed(running, average) && running.deadline < deadline ? waiting : best;
}

// From the longest queue with a thread that may move.
bool Scheduler::FindIdler(uint32_t& from, size_t& place) const {
  size_t longest = 0;
  for (uint32_t core = 0; core < cores_.size(); ++core) {
    const std::vector<uint32_t>& queue = cores_[core].queue;
    if (queue.size() <= longest) continue;
    for (size_t i = 0; i < queue.size(); ++i) {
      if (now_ - threads_[queue[i]].stopped_at < kHotNs) continue;
      longest = queue.size();
      from = core;
      place = i;
      break;
    }
  }
  return longest > 0;
}

void Scheduler::Arrive(uint32_t who) {
  if (!idle_.empty()) {
    const uint32_t core = idle_.back();
    idle_.pop_back();
    Thread& thread = threads_[who];
    thread.deadline = thread.ran + kSliceNs;
    Occupy(core, who);
    return;
  }
  // Where it ran before, unless that is more crowded: by one that has not run yet, else by two.
  Thread& thread = threads_[who];
  uint32_t core = thread.core;
  const size_t margin = thread.slept_at < 0 ? 0 : 1;
  for (uint32_t other = 0; other < cores_.size(); ++other) {
    if (cores_[other].queue.size() + margin < cores_[core].queue.size()) core = other;
  }
  Enqueue(core, who);
}

void Scheduler::Enqueue(uint32_t at, uint32_t who) {
  Core& core = cores_[at];
  Thread& thread = threads_[who];
  Thread& running = threads_[core.running];
  // One whose burst has just ended goes on or leaves before time moves.
  const bool between_bursts = core.running == holder_;
  if (!between_bursts) Account(running);
  if (core.queue.empty()) {
    // While it was alone no tick was simulated; each one began a new slice.
    const double since_tick = (now_ - LastTick()) * now_at_.speed;
    const double ran_at_tick = running.ran - since_tick;
    if (ran_at_tick >= running.deadline) running.deadline = ran_at_tick + kSliceNs;
  }
  const size_t others = core.queue.size() + 1;
  // What it ran too much is forgiven while it sleeps, as fast as the others catch up.
  double owed = thread.owed;
  if (owed < 0) owed = std::min(0.0, owed + (now_ - thread.slept_at) * parts_[others + 1]);
  owed = std::clamp(owed, -kMostOwedNs, kMostOwedNs);
  thread.ran = Average(core) - owed * (1 + parts_[others]);
  thread.deadline = thread.ran + kSliceNs;
  thread.core = at;
  core.queue.push_back(who);
  core.ran += thread.ran;
  ++waiting_;
  if (next_tick_ == kNever) next_tick_ = LastTick() + kTickNs;
  if (between_bursts) return;
  const bool slice_over = running.ran >= running.deadline;
  if (slice_over) running.deadline = running.ran + kSliceNs;
  // Within its slice it is left alone as long as it is owed time itself.
  if (!slice_over && IsOwed(running, Average(core))) return;
  Switch(core, Pick(core));
}

void Scheduler::Switch(Core& core, size_t place) {
  if (place == core.queue.size()) return;
  Thread& from = threads_[core.running];
  from.end = -1;
  from.stopped_at = now_;
  core.ran += from.ran - threads_[core.queue[place]].ran;
  std::swap(core.queue[place], core.running);
  Start(core.running);
}

uint32_t Scheduler::TakeFrom(Core& core, size_t place) {
  const uint32_t who = core.queue[place];
  core.queue[place] = core.queue.back();
  core.queue.pop_back();
  // No rounding error outlives a moment without anybody waiting.
  core.ran = core.queue.empty() ? 0 : core.ran - threads_[who].ran;
  if (--waiting_ == 0) next_tick_ = kNever;
  return who;
}

void Scheduler::Leave() {
  Thread& thread = threads_[holder_];
  holder_ = kNone;
  const uint32_t at = thread.core;
  Core& core = cores_[at];
  thread.owed = core.queue.empty() ? 0 : Average(core) - thread.ran;
  thread.slept_at = thread.stopped_at = now_;
  core.running = kNone;
  --busy_;
  uint32_t from = at;
  size_t place = 0;
  if (!core.queue.empty()) {
    place = Pick(core);
  } else if (waiting_ == 0 || !FindIdler(from, place)) {
    idle_.push_back(at);
    SetSpeed();
    return;
  }
  Occupy(at, TakeFrom(cores_[from], place));
}

// The kernel checks whether slices have ended, and idle cores look for work.
void Scheduler::Tick() {
  next_tick_ += kTickNs;
  uint32_t from = 0;
  size_t place = 0;
  while (!idle_.empty() && FindIdler(from, place)) {
    const uint32_t core = idle_.back();
    idle_.pop_back();
    Occupy(core, TakeFrom(cores_[from], place));
  }
  for (uint32_t at = 0; at < cores_.size(); ++at) {
    Core& core = cores_[at];
    if (core.running == kNone || core.queue.empty()) continue;
    Thread& running = threads_[core.running];
    Account(running);
    if (running.ran < running.deadline) continue;
    running.deadline = running.ran + kSliceNs;
    Switch(core, Pick(core));
  }
}

bool Scheduler::Next(uint32_t& who) {
  if (holder_ != kNone) Leave();
  for (;;) {
    while (!bursts_.empty() && threads_[bursts_.top().who].end != bursts_.top().time) bursts_.Pop();
    const double burst =
        bursts_.empty() ? kNever : now_ + (bursts_.top().time - virtual_now_) * now_at_.slowness;
    const double timer = timers_.empty() ? kNever : timers_.top().time;
    if (next_tick_ < std::min(burst, timer)) {
      AdvanceTo(next_tick_);
      Tick();
      continue;
    }
    if (burst <= timer) {
      if (bursts_.empty()) return false;
      who = bursts_.top().who;
      virtual_now_ = bursts_.top().time;
      Pass(burst);
      bursts_.Pop();
      Account(threads_[who]);
      threads_[who].end = -1;
      holder_ = who;
    } else {
      who = timers_.top().who;
      AdvanceTo(timer);
      timers_.Pop();
    }
    ++events_;
    return true;
  }
}

}  // namespace stallscope::replay
