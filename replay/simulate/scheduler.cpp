#include "replay/simulate/scheduler.h"

#include <cmath>

#include "replay/simulate/model_constants.h"

namespace stallscope::replay {

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
  for (size_t core = cores_.size(); core-- > 0;) idle_.push_back(static_cast<uint32_t>(core));
}

void Scheduler::Account(Thread& thread) const {
  thread.ran += virtual_now_ - thread.started;
  thread.left = thread.end - virtual_now_;
  thread.started = virtual_now_;
}

double Scheduler::Average(const Core& core) const {
  double sum = 0;
  size_t count = core.queue.size();
  for (const uint32_t who : core.queue) sum += threads_[who].ran;
  if (core.running != kNone) {
    sum += threads_[core.running].ran;
    ++count;
  }
  return sum / static_cast<double>(std::max<size_t>(count, 1));
}

// Of those that ran no more than the average, the one whose slice ends first.
uint32_t Scheduler::Pick(const Core& core, bool with_running) const {
  const double average = Average(core);
  uint32_t best = kNone;
  bool best_eligible = false;
  const auto look = [&](uint32_t who) {
    const Thread& thread = threads_[who];
    const bool eligible = thread.ran <= average;
    if (best != kNone && eligible == best_eligible) {
      const Thread& other = threads_[best];
      if (eligible ? thread.deadline >= other.deadline : thread.ran >= other.ran) return;
    } else if (best != kNone && !eligible) {
      return;
    }
    best = who;
    best_eligible = eligible;
  };
  for (const uint32_t who : core.queue) look(who);
  if (with_running && core.running != kNone) look(core.running);
  return best;
}

uint32_t Scheduler::Busiest() const {
  uint32_t busiest = 0;
  for (uint32_t core = 1; core < cores_.size(); ++core) {
    if (cores_[core].queue.size() > cores_[busiest].queue.size()) busiest = core;
  }
  return busiest;
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
    const double since_tick = (now_ - std::floor(now_ / kTickNs) * kTickNs) * now_at_.speed;
    const double ran_at_tick = running.ran - since_tick;
    if (ran_at_tick >= running.deadline) running.deadline = ran_at_tick + kSliceNs;
  }
  const auto others = static_cast<double>(core.queue.size() + 1);
  // What it ran too much is forgiven while it sleeps, as fast as the others catch up.
  double owed = thread.owed;
  if (owed < 0) owed = std::min(0.0, owed + (now_ - thread.slept_at) / (others + 1));
  owed = std::clamp(owed, -kMostOwedNs, kMostOwedNs);
  thread.ran = Average(core) - owed * (others + 1) / others;
  thread.deadline = thread.ran + kSliceNs;
  thread.core = at;
  core.queue.push_back(who);
  ++waiting_;
  if (next_tick_ == kNever) next_tick_ = (std::floor(now_ / kTickNs) + 1) * kTickNs;
  if (between_bursts) return;
  const bool slice_over = running.ran >= running.deadline;
  if (slice_over) running.deadline = running.ran + kSliceNs;
  // Within its slice it is left alone as long as it is owed time itself.
  if (!slice_over && running.ran <= Average(core)) return;
  const uint32_t next = Pick(core, true);
  if (next != core.running) Switch(at, next);
}

// From the running thread, which stays runnable, to one of the queue.
void Scheduler::Switch(uint32_t at, uint32_t to) {
  Core& core = cores_[at];
  Thread& from = threads_[core.running];
  Account(from);
  from.end = -1;
  *std::find(core.queue.begin(), core.queue.end(), to) = core.running;
  core.running = to;
  Start(to);
}

void Scheduler::Leave() {
  Thread& thread = threads_[holder_];
  holder_ = kNone;
  const uint32_t at = thread.core;
  Core& core = cores_[at];
  thread.owed = core.queue.empty() ? 0 : Average(core) - thread.ran;
  thread.slept_at = now_;
  core.running = kNone;
  --busy_;
  uint32_t from = at;
  if (core.queue.empty() && waiting_ > 0) from = Busiest();
  std::vector<uint32_t>& queue = cores_[from].queue;
  if (queue.empty()) {
    idle_.push_back(at);
    SetSpeed();
    return;
  }
  const uint32_t next = Pick(cores_[from], false);
  queue.erase(std::find(queue.begin(), queue.end(), next));
  if (--waiting_ == 0) next_tick_ = kNever;
  Occupy(at, next);
}

// The kernel looks whether slices have ended.
void Scheduler::Tick() {
  next_tick_ += kTickNs;
  for (uint32_t at = 0; at < cores_.size(); ++at) {
    Core& core = cores_[at];
    if (core.running == kNone || core.queue.empty()) continue;
    Thread& running = threads_[core.running];
    Account(running);
    if (running.ran < running.deadline) continue;
    running.deadline = running.ran + kSliceNs;
    const uint32_t next = Pick(core, true);
    if (next != core.running) Switch(at, next);
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
