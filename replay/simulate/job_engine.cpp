#include "replay/simulate/job_engine.h"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "replay/simulate/job_draw.h"
#include "replay/simulate/job_pass.h"
#include "replay/simulate/model_constants.h"
#include "replay/simulate/scheduler.h"

namespace stallscope::replay {
namespace {

constexpr uint32_t kMain = 0;
constexpr uint32_t kPin = 1;
constexpr uint32_t kQueues = 2;  // the main process's other threads
constexpr uint32_t kFirstWorker = 3;
// A pipe's buffer: a sender of more waits for the reader.
constexpr uint32_t kPipeBytes = 65'536;
// From an event to when the process that sleeps for it runs (measured: 30 to 70 us).
constexpr double kEventToRunNs = 50'000;
// Of the wait for a fetching worker's interpreter lock, where no core is idle: who gives the lock
// up has to get a core to take it again, and finds it taken (measured: 8.5 ms in place of 38).
constexpr float kLockOnFullCores = 0.2f;

enum class JobState : uint8_t {
  // The main process.
  kBegin,    // a pass
  kForked,   // another worker
  kIssue,    // wants to put indices
  kIssued,   // has chosen them
  kRequest,  // the trainer wants a batch
  kTake,     // looks for it
  kArrived,  // has received one
  kHanded,   // has the one whose turn it is
  kTrain,
  kShare,  // has done what the library's threads cannot share
  kJoin,   // waits for them
  kTrained,
  kEnded,  // the pass
  // Workers, feeders, the pinning thread, and the library's threads.
  kAsk,
  kDone,
  kReleased,
};

struct Message {
  uint64_t batch = 0;  // of the pass
  uint32_t worker = 0;
  bool ends = false;                // this worker's share of the data
  bool waits = false;               // its feeder, until it is received
  const BatchCost* cost = nullptr;  // none where it ends
  bool first = false;               // since the worker was started
};

struct JobThread {
  JobState state = JobState::kAsk;
  bool sleeps = false;
  double cpu_ns = 0;  // owed
  double blocked_ns = 0;
  Message now;  // at work on
};

struct JobWorker {
  std::deque<uint64_t> asked;  // batches
  std::deque<Message> made;    // for its feeder
  uint64_t produced = 0;       // in the pass
  bool ended = false;
  bool fresh = false;  // it has fetched nothing
  double since_ns = 0;
};

class JobEngine {
 public:
  JobEngine(const JobSetup& setup, uint64_t seed, uint64_t steps);
  SimulatedRun Finish();

 private:
  uint32_t FeederOf(uint32_t worker) const { return kFirstWorker + setup_.workers + worker; }
  uint32_t FirstMath() const { return kFirstWorker + 2 * setup_.workers; }
  bool PinsApart() const { return setup_.pins && setup_.workers > 0; }

  void Go(uint32_t who);
  void GoMain();
  bool MovesInPass();
  bool MovesInStep();
  bool EndStep();
  void GoWorker(uint32_t worker);
  void GoFeeder(uint32_t worker);
  void GoPin();

  void Owe(uint32_t who, const Cost& cost, double scale = 1);
  bool Spends(uint32_t who);
  void Sleep(uint32_t who) { threads_[who].sleeps = true; }
  void Wake(uint32_t who);
  void WakeTaker();
  void BurnBeside(double ns);

  bool StartsWorkers() const { return setup_.workers > 0 && (passes_ == 0 || !setup_.persistent); }
  void BeginPass();
  void StartWorker(uint32_t worker);
  void PutIndex();
  void Take();
  void Arrived(const Message& message);
  void HandToFeeder(uint32_t worker, const Message& message);
  void OweSend(uint32_t who, const BatchCost& batch);
  void Send(uint32_t worker);
  void Receive(uint32_t who, const Message& message);
  void Deliver(const Message& message);
  void Release(const Message& message);
  void FetchHere();
  void OweStep();
  void OwePause(const Pause& pause);
  void Share();

  const JobSetup& setup_;
  const JobCosts& costs_;
  const uint64_t wanted_;
  Scheduler scheduler_;
  std::vector<JobThread> threads_;
  std::vector<JobWorker> workers_;
  bool over_ = false;

  const JobDraw draw_;
  JobPass pass_;
  uint64_t passes_ = 0;    // completed ones
  uint64_t before_ = 0;    // batches of earlier passes
  uint32_t starting_ = 0;  // the worker that is starting
  double began_ns_ = 0;

  uint64_t to_issue_ = 0;
  JobState after_issue_ = JobState::kRequest;
  std::deque<Message> pipe_;
  std::deque<Message> pinned_;
  std::deque<uint32_t> senders_;  // feeders that wait for the pipe, the first one has it
  bool main_extra_runs_ = false;
  double main_extra_owed_ = 0;
  unsigned sharing_ = 0;
  double trained_since_ns_ = 0;
  SimulatedRun run_;
};

JobEngine::JobEngine(const JobSetup& setup, uint64_t seed, uint64_t steps)
    : setup_(setup),
      costs_(*setup.costs),
      wanted_(steps),
      scheduler_(setup.cores, kFirstWorker + 2 * setup.workers + setup.math_threads + 1),
      threads_(kFirstWorker + 2 * setup.workers + setup.math_threads),
      workers_(setup.workers),
      draw_(*setup.costs, setup.workers, seed),
      pass_(setup.workers, setup.ahead, setup.in_order) {
  run_.stages.resize(2);
  threads_[kMain].state = JobState::kBegin;
  for (uint32_t who = kPin; who < threads_.size(); ++who) Sleep(who);
}

SimulatedRun JobEngine::Finish() {
  GoMain();
  uint32_t who = 0;
  while (!over_ && scheduler_.Next(who)) Go(who);
  run_.end_ns = scheduler_.now();
  run_.waited_ns = scheduler_.waited_ns();
  run_.events = scheduler_.events();
  return std::move(run_);
}

void JobEngine::Go(uint32_t who) {
  if (who == kQueues) {
    main_extra_runs_ = false;
    return BurnBeside(0);
  }
  if (who >= FirstMath()) {
    --sharing_;
    JobThread& main = threads_[kMain];
    if (sharing_ > 0 || main.state != JobState::kTrained || !main.sleeps) return;
    main.sleeps = false;
    return GoMain();
  }
  if (Spends(who)) return;
  if (who == kMain) return GoMain();
  if (who == kPin) return GoPin();
  if (who < FeederOf(0)) return GoWorker(who - kFirstWorker);
  GoFeeder(who - FeederOf(0));
}

void JobEngine::Owe(uint32_t who, const Cost& cost, double scale) {
  threads_[who].cpu_ns += scale * static_cast<double>(cost.cpu_ns);
  threads_[who].blocked_ns +=
      scale * (static_cast<double>(cost.blocked_ns) + static_cast<double>(cost.io_ns));
}

// Begins the next part of what the thread owes. False: it owes nothing.
bool JobEngine::Spends(uint32_t who) {
  JobThread& thread = threads_[who];
  if (thread.cpu_ns > 0) {
    run_.cpu_ns += thread.cpu_ns;
    scheduler_.Burn(who, thread.cpu_ns);
    thread.cpu_ns = 0;
    return true;
  }
  if (thread.blocked_ns <= 0) return false;
  scheduler_.WakeAt(who, scheduler_.now() + thread.blocked_ns);
  thread.blocked_ns = 0;
  return true;
}

void JobEngine::Wake(uint32_t who) {
  if (!threads_[who].sleeps) return;
  threads_[who].sleeps = false;
  scheduler_.WakeAt(who, scheduler_.now() + kEventToRunNs);
}

void JobEngine::BurnBeside(double ns) {
  main_extra_owed_ += ns;
  if (main_extra_runs_ || main_extra_owed_ <= 0) return;
  main_extra_runs_ = true;
  run_.cpu_ns += main_extra_owed_;
  scheduler_.Burn(kQueues, main_extra_owed_);
  main_extra_owed_ = 0;
}

// ---- The main process ----

void JobEngine::BeginPass() {
  pass_.Begin(draw_.LengthOfPass(passes_, setup_.samples_scale));
  starting_ = 0;
  for (JobWorker& worker : workers_) {
    worker.produced = 0;
    worker.ended = false;
  }
  to_issue_ = uint64_t{setup_.workers} * setup_.ahead;
  after_issue_ = JobState::kRequest;
  began_ns_ = scheduler_.now();
  threads_[kMain].state = StartsWorkers() ? JobState::kForked : JobState::kIssue;
  if (setup_.workers == 0) threads_[kMain].state = JobState::kRequest;
  if (StartsWorkers()) threads_[kMain].cpu_ns += setup_.start.fork_ns;
}

void JobEngine::StartWorker(uint32_t worker) {
  const uint32_t who = kFirstWorker + worker;
  workers_[worker].fresh = true;
  threads_[who].state = JobState::kAsk;
  threads_[who].sleeps = false;
  threads_[who].cpu_ns += setup_.start.boot_cpu_ns;
  threads_[who].blocked_ns += setup_.start.boot_blocked_ns;
  if (!Spends(who)) scheduler_.WakeAt(who, scheduler_.now());
}

void JobEngine::PutIndex() {
  const uint64_t batch = pass_.asked();
  const uint32_t worker = pass_.Ask();
  workers_[worker].asked.push_back(batch);
  Wake(kFirstWorker + worker);
}

void JobEngine::GoMain() {
  while (!Spends(kMain) && (MovesInPass() || MovesInStep())) {
  }
}

// Starting a pass, ending it, and choosing indices. False: the main process does something else.
bool JobEngine::MovesInPass() {
  JobThread& main = threads_[kMain];
  switch (main.state) {
    case JobState::kBegin:
      BeginPass();
      return true;
    case JobState::kForked:
      StartWorker(starting_++);
      if (starting_ < setup_.workers) {
        main.cpu_ns += setup_.start.fork_ns;
      } else {
        main.state = JobState::kIssue;
      }
      return true;
    case JobState::kIssue:
      if (to_issue_ == 0 || !pass_.MayAsk()) {
        to_issue_ = 0;
        main.state = after_issue_;
        return true;
      }
      Owe(kMain, draw_.Batch(before_ + pass_.asked()).sample, setup_.samples_scale);
      main.state = JobState::kIssued;
      return true;
    case JobState::kIssued:
      PutIndex();
      --to_issue_;
      main.state = JobState::kIssue;
      return true;
    case JobState::kEnded:
      before_ += pass_.handed();
      ++passes_;
      if (setup_.workers > 0 && !setup_.persistent) {
        main.blocked_ns += setup_.start.end_ns;
        if (!run_.steps.empty()) run_.steps.back().waits_after_ns += setup_.start.end_ns;
      }
      OwePause(costs_.between_passes);
      main.state = JobState::kBegin;
      return true;
    default:
      return false;
  }
}

// From the trainer's request to the end of its step. False: it sleeps, or the run is over.
bool JobEngine::MovesInStep() {
  JobThread& main = threads_[kMain];
  switch (main.state) {
    case JobState::kRequest:
      if (pass_.handed() == 0 && StartsWorkers() && !run_.steps.empty()) {
        run_.steps.back().waits_after_ns += scheduler_.now() - began_ns_;
      }
      run_.steps.push_back({scheduler_.now(), 0, 0, 0});
      main.cpu_ns += costs_.hand_out_ns;
      main.state = JobState::kTake;
      if (setup_.workers == 0) FetchHere();
      return true;
    case JobState::kTake:
      Take();
      return !main.sleeps;
    case JobState::kArrived:
      Arrived(main.now);
      return true;
    case JobState::kHanded:
      pass_.HandOut();
      to_issue_ = setup_.workers > 0 ? 1 : 0;
      after_issue_ = JobState::kTrain;
      main.state = JobState::kIssue;
      return true;
    case JobState::kTrain:
      run_.steps.back().received_ns = trained_since_ns_ = scheduler_.now();
      BurnBeside(costs_.main_extra_ns);
      OweStep();
      main.state = JobState::kShare;
      return true;
    case JobState::kShare:
      Share();
      main.state = JobState::kJoin;
      return true;
    case JobState::kJoin:
      main.state = JobState::kTrained;
      if (sharing_ > 0) Sleep(kMain);
      return sharing_ == 0;
    default:
      return EndStep();
  }
}

bool JobEngine::EndStep() {
  run_.steps.back().done_ns = scheduler_.now();
  run_.stages[1].busy_ns += scheduler_.now() - trained_since_ns_;
  over_ = run_.steps.size() >= wanted_;
  threads_[kMain].state = pass_.ended() ? JobState::kEnded : JobState::kRequest;
  return !over_;
}

// Without workers.
void JobEngine::FetchHere() {
  const BatchCost& cost = draw_.Batch(before_ + pass_.handed());
  Owe(kMain, cost.sample, setup_.samples_scale);
  Owe(kMain, cost.fetch, setup_.fetch_scale);
  if (setup_.pins) {
    Owe(kMain, cost.pin, setup_.fetch_scale);
    Owe(kMain, setup_.more_pin);
  }
  run_.stages[0].busy_ns +=
      setup_.fetch_scale * static_cast<double>(cost.fetch.cpu_ns + cost.fetch.blocked_ns);
  threads_[kMain].state = JobState::kHanded;
}

// Looks for the batch whose turn it is among those that are here, else receives the next one.
void JobEngine::Take() {
  JobThread& main = threads_[kMain];
  if (pass_.TakeTurn()) {
    main.state = JobState::kHanded;
    return;
  }
  if (pass_.Exhausted() && pipe_.empty() && pinned_.empty()) {
    run_.steps.pop_back();
    main.state = JobState::kEnded;
    return;
  }
  auto& from = PinsApart() ? pinned_ : pipe_;
  if (from.empty()) return Sleep(kMain);
  main.now = from.front();
  from.pop_front();
  if (!PinsApart()) Receive(kMain, main.now);
  main.state = JobState::kArrived;
}

void JobEngine::Arrived(const Message& message) {
  JobThread& main = threads_[kMain];
  main.state = JobState::kTake;
  if (message.ends) {
    pass_.EndShare(message.worker);
    to_issue_ = 1;
    after_issue_ = JobState::kTake;
    main.state = JobState::kIssue;
    return;
  }
  pass_.Arrive(message.batch, message.worker);
  if (!setup_.in_order) main.state = JobState::kHanded;
}

void JobEngine::OweStep() {
  const size_t drawn = draw_.Step(run_.steps.size() - 1);
  Owe(kMain, costs_.steps[drawn], setup_.step_scale);
  if (pass_.handed() == 1 && StartsWorkers()) Owe(kMain, setup_.start.first_step);
  JobThread& main = threads_[kMain];
  // A reduction shortens waiting first: a copy is a wait.
  const double rest = main.blocked_ns + std::min(0.0, setup_.more_step_ns);
  main.blocked_ns = std::max(0.0, rest) + setup_.step_extra_ns;
  main.cpu_ns =
      std::max(0.0, main.cpu_ns + std::max(0.0, setup_.more_step_ns) + std::min(0.0, rest));
  if (!costs_.pauses.empty()) OwePause(costs_.pauses[drawn % costs_.pauses.size()]);
  // The main thread's part of what all threads share was recorded as its own.
  if (costs_.math_ns <= 0 || costs_.math_threads < 2) return;
  const double each = costs_.math_ns / static_cast<double>(costs_.math_threads - 1);
  main.cpu_ns = std::max(0.0, main.cpu_ns - setup_.step_scale * each);
}

void JobEngine::OwePause(const Pause& pause) {
  const double ns = setup_.evaluation_scale * pause.evaluates_ns + pause.other_ns;
  threads_[kMain].cpu_ns += costs_.pause_cpu_share * ns;
  threads_[kMain].blocked_ns += (1 - costs_.pause_cpu_share) * ns;
}

void JobEngine::Share() {
  if (costs_.math_ns <= 0 || costs_.math_threads < 2) return;
  const auto recorded = static_cast<double>(costs_.math_threads);
  const double all = setup_.step_scale * costs_.math_ns * recorded / (recorded - 1);
  const double each = all / setup_.math_threads;
  threads_[kMain].cpu_ns += each;
  for (uint32_t i = 0; i + 1 < setup_.math_threads; ++i) {
    run_.cpu_ns += each;
    scheduler_.Burn(FirstMath() + i, each);
    ++sharing_;
  }
}

// ---- Workers, feeders and the pinning thread ----

void JobEngine::GoWorker(uint32_t number) {
  JobWorker& worker = workers_[number];
  JobThread& thread = threads_[kFirstWorker + number];
  for (;;) {
    if (thread.state == JobState::kDone) {
      run_.stages[0].busy_ns += scheduler_.now() - worker.since_ns;
      ++worker.produced;
      HandToFeeder(number, thread.now);
      thread.state = JobState::kAsk;
    }
    if (worker.asked.empty()) return Sleep(kFirstWorker + number);
    const uint64_t batch = worker.asked.front();
    worker.asked.pop_front();
    if (draw_.ShareEnds(number, worker.produced)) {
      if (!std::exchange(worker.ended, true)) {
        HandToFeeder(number, {.batch = batch, .worker = number, .ends = true});
      }
      continue;
    }
    thread.now = {.batch = batch,
                  .worker = number,
                  .cost = &draw_.BatchOf(number, worker.produced, before_ + batch),
                  .first = std::exchange(worker.fresh, false)};
    Owe(kFirstWorker + number, thread.now.cost->fetch, setup_.fetch_scale);
    if (thread.now.first) Owe(kFirstWorker + number, setup_.start.first_fetch);
    worker.since_ns = scheduler_.now();
    thread.state = JobState::kDone;
    if (Spends(kFirstWorker + number)) return;
  }
}

void JobEngine::HandToFeeder(uint32_t number, const Message& message) {
  workers_[number].made.push_back(message);
  // It may be waiting for the reader of its message.
  if (threads_[FeederOf(number)].state == JobState::kAsk) Wake(FeederOf(number));
}

void JobEngine::GoFeeder(uint32_t number) {
  const uint32_t who = FeederOf(number);
  JobThread& thread = threads_[who];
  JobWorker& worker = workers_[number];
  for (;;) {
    switch (thread.state) {
      case JobState::kDone:
        Send(number);
        if (thread.sleeps) return;
        break;
      case JobState::kReleased:
        thread.cpu_ns += costs_.worker_extra_ns;
        thread.state = JobState::kAsk;
        break;
      default:
        if (worker.made.empty()) return Sleep(who);
        thread.now = worker.made.front();
        worker.made.pop_front();
        thread.state = JobState::kDone;
        if (thread.now.ends) break;
        OweSend(who, *thread.now.cost);
        if (thread.now.first) Owe(who, setup_.start.first_send);
        Owe(who, setup_.more_send);
        break;
    }
    if (Spends(who)) return;
  }
}

// What waiting for the reader of a large message takes is simulated, not recorded.
void JobEngine::OweSend(uint32_t who, const BatchCost& batch) {
  Cost cost = batch.send;
  if (batch.bytes > kPipeBytes) cost.blocked_ns = 0;
  Owe(who, cost, setup_.fetch_scale);
}

void JobEngine::Send(uint32_t number) {
  JobThread& thread = threads_[FeederOf(number)];
  thread.state = JobState::kReleased;
  thread.now.waits = !thread.now.ends && thread.now.cost->bytes > kPipeBytes;
  if (!thread.now.waits) return Deliver(thread.now);
  senders_.push_back(number);
  Sleep(FeederOf(number));
  if (senders_.front() == number) Deliver(thread.now);
}

// A message that is larger than the pipe's buffer is out of the sender's hands when it is read.
void JobEngine::Release(const Message& message) {
  if (!message.waits) return;
  senders_.pop_front();
  Wake(FeederOf(message.worker));
  if (!senders_.empty()) Deliver(threads_[FeederOf(senders_.front())].now);
}

// The sender is free as soon as its message is read, which takes far less than undoing it.
void JobEngine::Receive(uint32_t who, const Message& message) {
  Release(message);
  if (message.ends) return;
  Cost cost = message.cost->receive;
  // The worker's thread that hands over its memory waits for the interpreter lock of one that
  // fetches.
  if (threads_[kFirstWorker + message.worker].sleeps) cost.blocked_ns = 0;
  if (!scheduler_.HasIdleCore()) cost.blocked_ns *= kLockOnFullCores;
  Owe(who, cost, setup_.fetch_scale);
  if (message.first) Owe(who, setup_.start.first_receive);
  Owe(who, setup_.more_receive);
}

void JobEngine::Deliver(const Message& message) {
  pipe_.push_back(message);
  if (PinsApart()) return Wake(kPin);
  WakeTaker();
}

// It may sleep for its own threads instead.
void JobEngine::WakeTaker() {
  if (threads_[kMain].state == JobState::kTake) Wake(kMain);
}

void JobEngine::GoPin() {
  JobThread& thread = threads_[kPin];
  for (;;) {
    if (thread.state == JobState::kDone) {
      pinned_.push_back(thread.now);
      WakeTaker();
      thread.state = JobState::kAsk;
    }
    if (pipe_.empty()) return Sleep(kPin);
    thread.now = pipe_.front();
    pipe_.pop_front();
    Receive(kPin, thread.now);
    if (!thread.now.ends) {
      Owe(kPin, thread.now.cost->pin, setup_.fetch_scale);
      Owe(kPin, setup_.more_pin);
    }
    thread.state = JobState::kDone;
    if (Spends(kPin)) return;
  }
}

}  // namespace

SimulatedRun RunJob(const JobSetup& setup, uint64_t seed, uint64_t steps) {
  return JobEngine(setup, seed, steps).Finish();
}

}  // namespace stallscope::replay
