// What a simulated run is made of while it runs. Private to the room; one thread.
//
// Threads are small machines: Go() takes one from state to state until it has to wait, for the
// scheduler (it spends time), or for another one (it sleeps, and whoever ends that wakes it). What
// they do is what collectors/pipeline and collectors/trainer do.
#ifndef STALLSCOPE_REPLAY_SIMULATE_ENGINE_STATE_H_
#define STALLSCOPE_REPLAY_SIMULATE_ENGINE_STATE_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "replay/simulate/chain.h"
#include "replay/simulate/engine.h"
#include "replay/simulate/hand_over.h"
#include "replay/simulate/ready_list.h"
#include "replay/simulate/scheduler.h"

namespace stallscope::replay {

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
  kTake,  // from what lies ready on the device
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
  ReadyList ready_;  // may go on now
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

}  // namespace stallscope::replay

#endif  // STALLSCOPE_REPLAY_SIMULATE_ENGINE_STATE_H_
