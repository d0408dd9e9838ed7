#include "replay/simulate/engine.h"

#include <algorithm>
#include <utility>

#include "replay/simulate/engine_state.h"
#include "replay/simulate/model_constants.h"

namespace stallscope::replay {
namespace {

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

}  // namespace

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
  run_.busy_ns.resize(network.stages + 1);
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
  return std::move(run_);
}

void Engine::Go(uint32_t who) {
  const State state = threads_[who].state;
  if (state <= State::kPush) return GoWorker(who);
  if (state <= State::kCopied) return GoFetcher(who);
  if (state <= State::kWait) return GoTrainer(who);
  GoDevice(who);
}

bool Engine::Spends(uint32_t who) {
  Debt& debt = threads_[who].debt;
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

void Engine::Wake(uint32_t who) {
  if (network_.wake_ns > 0) {
    scheduler_.WakeAt(who, scheduler_.now() + network_.wake_ns);
  } else {
    ready_.Push(who);
  }
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
    if (state.chain.Advance(std::exchange(thread.took, false), thread.debt, run_.busy_ns)) {
      ++thread.collected;
      continue;
    }
    HandOver& queue = groups_[static_cast<size_t>(state.group->input)].queue;
    if (thread.debt.ns() > kWorthAnEvent && Spends(who)) return false;
    if (!queue.HasNext()) {
      if (Spends(who)) return false;
      if (!queue.pushers.empty()) WakePushers(queue);
      queue.popper = who;
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
  for (size_t i = 0; i < state.work.size(); ++i) {
    const uint64_t times = state.group->work[i].times;
    for (uint64_t n = 0; n < times; ++n) state.work[i].AddTo(work, run_.busy_ns);
  }
  work.cpu_ns += state.group->handover_ns;
  Debt& turn = thread.debt;
  if (turn.io_bytes != 0 || turn.ns() >= kShortTurn * work.ns()) return;
  work.cpu_ns += turn.cpu_ns;
  work.off_ns += turn.off_ns;
  turn = Debt();
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
          state.waiting.Push(who);  // who gives the turn up wakes the first
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
          return;
        }
        Push(thread, state.queue);
        thread.state = State::kTurn;
    }
  }
}

SimulatedRun Run(const Network& network, uint64_t seed, uint64_t batches) {
  return Engine(network, seed, batches).Finish();
}

}  // namespace stallscope::replay
