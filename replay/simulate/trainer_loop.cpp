// The trainer, who feeds it, and the device.
#include <algorithm>
#include <utility>

#include "replay/simulate/engine_state.h"

namespace stallscope::replay {

bool Engine::MayFetch() const { return slots_ > 0 && on_device_.size() < plan_.device_prefetch; }

void Engine::WakeFetcher() {
  if (!fetcher_sleeps_ || !MayFetch()) return;
  fetcher_sleeps_ = false;
  Wake(fetcher_);
}

// One copy after the other has the link; from pageable memory the host waits for its end.
void Engine::Copy(uint32_t who) {
  const double now = scheduler_.now();
  fetched_.copied_ns = now;
  if (plan_.copy_ns <= 0) return;
  link_free_ns_ = std::max(now, link_free_ns_) + plan_.copy_ns;
  fetched_.copied_ns = link_free_ns_;
  if (plan_.copy_blocks) threads_[who].debt.off_ns += link_free_ns_ - now;
}

void Engine::GoFetcher(uint32_t who) {
  Thread& thread = threads_[who];
  switch (thread.state) {
    case State::kRequest:
      if (feeds_) {
        if (!MayFetch()) {
          fetcher_sleeps_ = true;
          return;
        }
        --slots_;
      }
      fetched_ = Fetched();
      fetched_.step.requested_ns = scheduler_.now();
      thread.state = State::kReceive;
      [[fallthrough]];
    case State::kReceive:
      if (!Pulls(who)) return;
      thread.collected = 0;
      thread.state = State::kReceived;
      [[fallthrough]];
    case State::kReceived:
      if (Spends(who)) return;
      fetched_.step.received_ns = scheduler_.now();
      thread.debt.cpu_ns = plan_.convert_ns;
      thread.state = State::kCopy;
      [[fallthrough]];
    case State::kCopy:
      if (Spends(who)) return;
      Copy(who);
      thread.state = State::kCopied;
      [[fallthrough]];
    default:
      if (Spends(who)) return;
      if (!feeds_) {
        current_ = fetched_;
        thread.state = State::kIssue;
        return GoTrainer(who);
      }
      on_device_.push_back(fetched_);
      if (std::exchange(trainer_sleeps_, false)) Wake(trainer_);
      thread.state = State::kRequest;
      ready_.Push(who);
  }
}

void Engine::Issue() {
  Fetched& step = in_flight_.emplace_back(current_);
  if (plan_.host_threads > 0) return StartCompute();
  Debt compute;
  compute_.AddTo(compute, run_.busy_ns);
  const double start = std::max({issue_start_ns_, step.copied_ns, compute_free_ns_});
  step.step.done_ns = std::max(start + compute.cpu_ns, scheduler_.now() + plan_.last_kernel_ns);
  compute_free_ns_ = step.step.done_ns;
  step.done_known = true;
}

void Engine::StartCompute() {
  if (computing_ > 0 || begun_ == in_flight_.size()) return;
  const Fetched& step = in_flight_[begun_];
  computing_ = plan_.host_threads;
  Debt compute;
  compute_.AddTo(compute, run_.busy_ns);
  compute.off_ns = std::max(0.0, step.copied_ns - scheduler_.now());
  for (unsigned i = 0; i < plan_.host_threads; ++i) {
    threads_[first_device_ + i].debt = compute;
    ready_.Push(first_device_ + i);
  }
}

void Engine::GoDevice(uint32_t who) {
  if (Spends(who) || --computing_ > 0) return;
  in_flight_[begun_].step.done_ns = scheduler_.now();
  in_flight_[begun_].done_known = true;
  ++begun_;
  if (std::exchange(trainer_sleeps_, false)) Wake(trainer_);
  StartCompute();
}

bool Engine::OldestIsDone(uint32_t who) {
  const Fetched& oldest = in_flight_.front();
  if (!oldest.done_known) {
    trainer_sleeps_ = waited_ = true;
    return false;
  }
  if (oldest.step.done_ns <= scheduler_.now()) return true;
  waited_ = true;
  scheduler_.WakeAt(who, oldest.step.done_ns);
  return false;
}

void Engine::GoTrainer(uint32_t who) {
  Thread& thread = threads_[who];
  switch (thread.state) {
    case State::kTake:
      current_.step.requested_ns = scheduler_.now();
      thread.state = State::kTaken;
      [[fallthrough]];
    case State::kTaken: {
      if (on_device_.empty()) {
        trainer_sleeps_ = true;
        return;
      }
      const double requested = current_.step.requested_ns;
      current_ = on_device_.front();
      on_device_.pop_front();
      current_.step.requested_ns = requested;
      current_.step.received_ns = scheduler_.now();
      WakeFetcher();
    }
      [[fallthrough]];
    case State::kIssue:
      issue_start_ns_ = scheduler_.now();
      thread.debt.cpu_ns = plan_.issue_cpu_ns;
      thread.debt.off_ns = plan_.issue_wait_ns;
      thread.state = State::kIssued;
      [[fallthrough]];
    case State::kIssued:
      if (Spends(who)) return;
      Issue();
      waited_ = false;
      thread.state = State::kWait;
      [[fallthrough]];
    default:
      while (in_flight_.size() > plan_.in_flight) {
        if (!OldestIsDone(who)) return;
        run_.steps.push_back(in_flight_.front().step);
        in_flight_.pop_front();
        if (plan_.host_threads > 0) --begun_;
        ++slots_;
        if (feeds_) WakeFetcher();
      }
  }
  thread.state = feeds_ ? State::kTake : State::kRequest;
  scheduler_.WakeAt(who, scheduler_.now() + plan_.extra_ns + (waited_ ? plan_.turn_ns : 0));
}

}  // namespace stallscope::replay
