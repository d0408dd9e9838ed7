#include "replay/simulate/engine.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "replay/simulate/chain.h"
#include "replay/simulate/hand_over.h"
#include "replay/simulate/model_constants.h"
#include "replay/simulate/scheduler.h"

namespace stallscope::replay {
namespace {

// Threads are small machines: Go() takes one from state to state until it has to wait, for the
// scheduler (it spends time) or for another one (it sleeps until that one wakes it). What they do
// is what collectors/pipeline and collectors/trainer do.
enum class State : uint8_t {
  // A worker.
  kTurn,    // wants to ask for items
  kPull,    // asks
  kPulled,  // has a job, and owes what its turn cost
  kWork,    // owes what the job costs
  kPush,    // wants to put the result into the queue
  // Who fetches batches: the trainer itself, or the thread that feeds the device.
  kRequest,
  kReceive,
  kReceived,
  kCopy,
  kCopied,
  // The trainer.
  kTake,  // from what is ready on the device
  kTaken,
  kIssue,
  kIssued,
  kWait,  // for the device
  // A thread of the host that plays the device.
  kCompute,
};

struct Thread {
  State state = State::kTurn;
  bool took = false;  // an item from below that has not gone up the chain yet
  uint32_t group = 0;
  uint64_t collected = 0;  // of its job
  uint64_t ticket = 0;
  double parked_ns = -1;  // since when it waits for another thread; it does not: -1
  Debt debt;
  Debt work;  // to be owed when the turn is over
};

struct GroupState {
  GroupState(const Group& made, uint64_t seed);
  const Group* group;
  Chain chain;
  HandOver queue;
  std::vector<HopCosts> work;
  bool turn_taken = false;
  ReadyList waiting;  // for their turn
};

// A batch on its way.
struct Fetched {
  SimulatedStep step;
  double copied_ns = 0;
  bool done_known = false;
};

class Engine {
 public:
  Engine(const Network& network, uint64_t seed, uint64_t batches);
  SimulatedRun Finish();

 private:
  void Add(const Group& group, uint64_t workers, State state, uint64_t seed);
  uint32_t AddThread(uint32_t group, State state);

  void Go(uint32_t who);
  void GoWorker(uint32_t who);
  void GoFetcher(uint32_t who);
  void GoTrainer(uint32_t who);
  void GoDevice(uint32_t who);

  // Begins the next part of what the thread owes. False: it owes nothing.
  bool Spends(uint32_t who);
  void Wake(uint32_t who);
  void WakePushers(HandOver& queue);
  // Collects a job. False: the thread sleeps for an item, or spends what it owes first.
  bool Pulls(uint32_t who);
  void OweWork(Thread& thread, GroupState& state);
  void ReleaseTurn(GroupState& state);
  void Push(Thread& thread, HandOver& queue);

  bool MayFetch() const;
  void WakeFetcher();
  void Copy(uint32_t who);
  void Issue();
  void StartCompute();
  // False: the trainer sleeps until it is.
  bool OldestIsDone(uint32_t who);

  const Network& network_;
  const StepPlan& plan_;
  const uint64_t batches_;
  Scheduler scheduler_;
  std::vector<Thread> threads_;
  std::vector<GroupState> groups_;
  ReadyList ready_;       // threads that may continue now
  uint32_t at_work_ = 0;  // the thread that is continuing
  double disk_free_ns_ = 0;

  const bool feeds_;
  uint32_t fetcher_ = 0;
  uint32_t trainer_ = 0;  // the same where nobody feeds
  uint32_t first_device_ = 0;
  bool fetcher_sleeps_ = false;
  bool trainer_sleeps_ = false;
  bool waited_ = false;  // the trainer, for the device in this step
  uint64_t slots_;       // for batches on the device
  double link_free_ns_ = 0;
  double compute_free_ns_ = 0;
  double issue_start_ns_ = 0;
  Fetched fetched_;                // the fetcher's
  Fetched current_;                // the trainer's
  std::deque<Fetched> on_device_;  // ready for the trainer
  std::deque<Fetched> in_flight_;  // issued
  HopCosts compute_;
  size_t begun_ = 0;        // of those in flight, by the host's threads that play the device
  unsigned computing_ = 0;  // of these threads
  SimulatedRun run_;
};

// Workers, who fetches, the trainer, and the host's threads that play the device.
size_t ThreadsOf(const Network& network) {
  size_t threads = 2 + network.step.host_threads;
  for (const Group& group : network.groups) threads += group.workers;
  return threads;
}

Hop ComputeOf(const Network& network) {
  Hop hop;
  hop.stage = static_cast<uint32_t>(network.stages);
  hop.costs = network.step.compute;
  hop.scale = network.step.compute_scale;
  hop.more_cpu_ns = network.step.compute_ns;
  return hop;
}

GroupState::GroupState(const Group& made, uint64_t seed)
    : group(&made), chain(made.chain, made.input >= 0, seed), queue(made.limit) {
  for (const Hop& hop : made.work) work.emplace_back(hop, seed);
}

Engine::Engine(const Network& network, uint64_t seed, uint64_t batches)
    : network_(network),
      plan_(network.step),
      batches_(batches),
      scheduler_(network.cores, ThreadsOf(network)),
      feeds_(plan_.device_prefetch > 0),
      slots_(plan_.device_prefetch + plan_.in_flight + 1),
      compute_(ComputeOf(network), seed) {
  groups_.reserve(network.groups.size() + 1);
  threads_.reserve(ThreadsOf(network));
  run_.stages.resize(network.stages + 1);
  run_.steps.reserve(batches);
  for (const Group& group : network.groups) Add(group, group.workers, State::kTurn, seed);
  Add(network.trainer, 1, State::kRequest, seed);
  fetcher_ = trainer_ = static_cast<uint32_t>(threads_.size() - 1);
  const uint32_t group = threads_[fetcher_].group;
  if (feeds_) trainer_ = AddThread(group, State::kTake);
  first_device_ = static_cast<uint32_t>(threads_.size());
  for (unsigned i = 0; i < plan_.host_threads; ++i) AddThread(group, State::kCompute);
}

void Engine::Add(const Group& group, uint64_t workers, State state, uint64_t seed) {
  groups_.emplace_back(group, seed);
  for (uint64_t i = 0; i < workers; ++i)
    AddThread(static_cast<uint32_t>(groups_.size() - 1), state);
}

uint32_t Engine::AddThread(uint32_t group, State state) {
  Thread thread;
  thread.state = state;
  thread.group = group;
  threads_.push_back(thread);
  return static_cast<uint32_t>(threads_.size() - 1);
}

SimulatedRun Engine::Finish() {
  for (uint32_t who = 0; who < first_device_; ++who) ready_.Push(who);
  while (run_.steps.size() < batches_) {
    uint32_t who = 0;
    if (!ready_.empty()) {
      who = ready_.Pop();
    } else if (!scheduler_.Next(who)) {
      break;
    }
    Go(who);
  }
  run_.end_ns = scheduler_.now();
  run_.events = scheduler_.events();
  run_.waited_ns = scheduler_.waited_ns();
  return std::move(run_);
}

void Engine::Go(uint32_t who) {
  at_work_ = who;
  Thread& thread = threads_[who];
  const State state = thread.state;
  if (thread.parked_ns >= 0) {
    thread.debt.idle = thread.debt.idle || scheduler_.now() - thread.parked_ns >= kIdleNs;
    thread.parked_ns = -1;
  }
  if (state <= State::kPush) return GoWorker(who);
  if (state <= State::kCopied) return GoFetcher(who);
  if (state <= State::kWait) return GoTrainer(who);
  GoDevice(who);
}

bool Engine::Spends(uint32_t who) {
  Debt& debt = threads_[who].debt;
  if (debt.first_ns > 0) {
    scheduler_.Burn(who, debt.first_ns);
    run_.cpu_ns += debt.first_ns;
    debt.first_ns = 0;
    return true;
  }
  if (debt.io_bytes != 0 && debt.since_ns < 0) debt.since_ns = scheduler_.now();
  if (debt.off_ns > 0) {
    scheduler_.WakeAt(who, scheduler_.now() + debt.off_ns);
    debt.off_ns = 0;
    return true;
  }
  if (debt.cpu_ns > 0) {
    scheduler_.Burn(who, debt.cpu_ns);
    run_.cpu_ns += debt.cpu_ns;
    debt.cpu_ns = 0;
    return true;
  }
  if (debt.io_bytes == 0) return false;
  // Item by item, reading and work take turns, and tokens come in during the work.
  disk_free_ns_ = std::max(disk_free_ns_, debt.since_ns - kDiskBurstNs) +
                  static_cast<double>(debt.io_bytes) * network_.disk_ns_per_byte;
  debt.io_bytes = 0;
  debt.since_ns = -1;
  if (disk_free_ns_ <= scheduler_.now()) return false;
  scheduler_.WakeAt(who, disk_free_ns_);
  return true;
}

// An idle core takes a moment to wake up. On a busy one the thread is in the queue at once, and may
// take the core from the thread that woke it.
void Engine::Wake(uint32_t who) {
  if (network_.wake_ns > 0 && scheduler_.HasIdleCore()) {
    return scheduler_.WakeAt(who, scheduler_.now() + network_.wake_ns);
  }
  ready_.Push(who);
  if (network_.wake_ns > 0) threads_[at_work_].debt.first_ns = kWakerNs;
}

void Engine::WakePushers(HandOver& queue) {
  auto& pushers = queue.pushers;
  for (const HandOver::Sleeper& sleeper : pushers) {
    if (queue.HasRoom(sleeper.ticket)) Wake(sleeper.who);
  }
  pushers.erase(std::remove_if(pushers.begin(), pushers.end(),
                               [&](const auto& sleeper) { return queue.HasRoom(sleeper.ticket); }),
                pushers.end());
}

bool Engine::Pulls(uint32_t who) {
  Thread& thread = threads_[who];
  GroupState& state = groups_[thread.group];
  while (thread.collected < state.group->job) {
    if (state.chain.Advance(std::exchange(thread.took, false), thread.debt, run_.stages)) {
      ++thread.collected;
      continue;
    }
    HandOver& queue = groups_[static_cast<size_t>(state.group->input)].queue;
    if (thread.debt.ns() > kWorthAnEvent && Spends(who)) return false;
    if (!queue.HasNext()) {
      if (Spends(who)) return false;
      if (!queue.pushers.empty()) WakePushers(queue);
      queue.popper = who;
      thread.parked_ns = scheduler_.now();
      return false;
    }
    queue.Pop();
    thread.took = true;
    if (!queue.pushers.empty() && queue.WakesForRoom()) WakePushers(queue);
  }
  return true;
}

void Engine::OweWork(Thread& thread, GroupState& state) {
  Debt& work = thread.work;
  work.idle = thread.debt.idle;
  for (size_t i = 0; i < state.work.size(); ++i) {
    const uint64_t times = state.group->work[i].times;
    for (uint64_t n = 0; n < times; ++n) state.work[i].AddTo(work, run_.stages);
  }
  work.cpu_ns += state.group->handover_ns;
  Debt& turn = thread.debt;
  if (turn.io_bytes != 0 || turn.ns() >= kShortTurn * work.ns()) return;
  work.first_ns += turn.first_ns;
  work.cpu_ns += turn.cpu_ns;
  work.off_ns += turn.off_ns;
  turn = Debt();
  turn.idle = work.idle;
}

void Engine::ReleaseTurn(GroupState& state) {
  if (state.waiting.empty()) {
    state.turn_taken = false;
    return;
  }
  ready_.Push(state.waiting.Pop());
}

void Engine::Push(Thread& thread, HandOver& queue) {
  queue.Push(thread.ticket);
  if (queue.popper == kNobody || !queue.HasNext()) return;
  Wake(std::exchange(queue.popper, kNobody));
}

void Engine::GoWorker(uint32_t who) {
  Thread& thread = threads_[who];
  GroupState& state = groups_[thread.group];
  for (;;) {
    switch (thread.state) {
      case State::kTurn:
        thread.state = State::kPull;
        if (state.turn_taken) {
          state.waiting.Push(who);  // whoever gives up the turn wakes the first
          thread.parked_ns = scheduler_.now();
          return;
        }
        state.turn_taken = true;
        break;
      case State::kPull:
        if (!Pulls(who)) return;
        thread.collected = 0;
        OweWork(thread, state);
        thread.state = State::kPulled;
        break;
      case State::kPulled:
        if (!thread.debt.none() && Spends(who)) return;
        if (state.group->ordered) thread.ticket = state.queue.DrawTicket();
        ReleaseTurn(state);
        thread.debt = std::exchange(thread.work, Debt());
        thread.state = State::kWork;
        break;
      case State::kWork:
        if (!thread.debt.none() && Spends(who)) return;
        if (!state.group->ordered) thread.ticket = state.queue.DrawTicket();
        thread.state = State::kPush;
        break;
      default:
        if (!state.queue.HasRoom(thread.ticket)) {
          state.queue.pushers.push_back({thread.ticket, who});
          thread.parked_ns = scheduler_.now();
          return;
        }
        Push(thread, state.queue);
        thread.state = State::kTurn;
    }
  }
}

// ---- The trainer, the thread that feeds it, and the device

bool Engine::MayFetch() const { return slots_ > 0 && on_device_.size() < plan_.device_prefetch; }

void Engine::WakeFetcher() {
  if (!fetcher_sleeps_ || !MayFetch()) return;
  fetcher_sleeps_ = false;
  Wake(fetcher_);
}

// One copy after the other has the link; from pageable memory the host waits for its end, and
// wakes up as late as behind a step.
void Engine::Copy(uint32_t who) {
  const double now = scheduler_.now();
  fetched_.copied_ns = now;
  if (plan_.copy_ns <= 0) return;
  link_free_ns_ = std::max(now, link_free_ns_) + plan_.copy_ns;
  fetched_.copied_ns = link_free_ns_;
  if (plan_.copy_blocks) threads_[who].debt.off_ns += link_free_ns_ - now + plan_.turn_ns;
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
  compute_.AddTo(compute, run_.stages);
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
  compute_.AddTo(compute, run_.stages);
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
  const double pause = plan_.extra_ns + (waited_ ? plan_.turn_ns : 0);
  if (pause > 0) return scheduler_.WakeAt(who, scheduler_.now() + pause);
  ready_.Push(who);  // it keeps its core
}

}  // namespace

SimulatedRun Run(const Network& network, uint64_t seed, uint64_t batches) {
  return Engine(network, seed, batches).Finish();
}

}  // namespace stallscope::replay
