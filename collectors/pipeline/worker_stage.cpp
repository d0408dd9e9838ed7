#include "collectors/pipeline/worker_stage.h"

#include <algorithm>
#include <utility>

#include "collectors/recorder/track.h"

namespace stallscope::pipeline {

WorkerStage::WorkerStage(StagePtr input, std::unique_ptr<const Runner> runner,
                         WorkerOptions options, StageContext& context)
    : ChainedStage(std::move(input), context),
      runner_(std::move(runner)),
      options_(std::move(options)),
      ring_(options_.queue, options_.queue_most, options_.queue_limit, context.token),
      target_(0) {
  try {
    context_.token.OnCancel([this] {
      { const std::lock_guard lock(input_mutex_); }
      turn_.notify_all();
    });
  } catch (...) {
    context_.token.Cancel();  // the ring listens already, and goes now
    throw;
  }
  SetParallelism(options_.parallelism);
}

// Nobody is left to ask for what the workers make; the stages before this one end with it.
WorkerStage::~WorkerStage() {
  context_.token.Cancel();
  threads_.Join();
}

void WorkerStage::SetParallelism(int64_t parallelism) {
  Status started;
  {
    const std::lock_guard lock(input_mutex_);
    if (context_.token.cancelled()) return;
    target_ = std::max<int64_t>(parallelism, 1);
    while (started.ok() && static_cast<int64_t>(threads_.size()) < target_) {
      started =
          threads_.Start([this, index = static_cast<int64_t>(threads_.size())] { Work(index); },
                         [this](Error error) { context_.Fail(std::move(error), options_.name); });
    }
  }
  turn_.notify_all();
  if (!started.ok()) context_.Fail(std::move(started).error(), options_.name);
}

void WorkerStage::Work(int64_t index) {
  const recorder::ThreadScope scope(context_.recorder, options_.name + "/" + std::to_string(index),
                                    options_.stage);
  RunnerWorker worker(context_);
  std::vector<Element> job;
  uint64_t ticket = 0;
  Outcome outcome;
  while (TakeJob(index, job, ticket, outcome)) {
    if (!job.empty()) {
      const Ticks start = NowTicks();
      auto done = runner_->Run(job, worker);
      busy_ticks_.fetch_add(NowTicks() - start, std::memory_order_relaxed);
      jobs_.fetch_add(1, std::memory_order_relaxed);
      if (!done.ok()) {
        outcome.kind = Outcome::Kind::kError;
        outcome.error = std::make_unique<Error>(std::move(done).error());
      } else if (done.value().has_value()) {
        outcome.kind = Outcome::Kind::kElement;
        outcome.element = std::move(*done.value());
      } else {
        outcome.kind = Outcome::Kind::kLeftOut;
      }
    }
    Finish(ticket, std::move(outcome));
    outcome = Outcome();
  }
}

bool WorkerStage::TakeJob(int64_t index, std::vector<Element>& job, uint64_t& ticket,
                          Outcome& outcome) {
  std::unique_lock lock(input_mutex_, std::try_to_lock);
  if (!lock.owns_lock()) {
    const recorder::WaitScope wait(trace::WaitCause::kLock, options_.input_lock);
    lock.lock();
  }
  const auto may_go = [&] { return context_.token.cancelled() || (!ended_ && index < target_); };
  turn_.wait(lock, may_go);
  if (context_.token.cancelled()) return false;
  ++at_work_;
  Status pulled = PullJob(*input_, *runner_, context_, job);
  if (!pulled.ok()) {
    job.clear();
    outcome.kind = Outcome::Kind::kError;
    outcome.error = std::make_unique<Error>(std::move(pulled).error());
  }
  if (job.empty()) ended_ = true;
  if (options_.ordered) ticket = ring_.DrawTicket();
  return true;
}

void WorkerStage::Finish(uint64_t ticket, Outcome&& outcome) {
  const bool is_end = outcome.kind == Outcome::Kind::kEnd;
  if (outcome.kind == Outcome::Kind::kError) ended_ = true;
  if (options_.ordered || !is_end) {
    if (!options_.ordered) ticket = ring_.DrawTicket();
    const ItemId item = outcome.element.item;
    recorder::Track* const track =
        outcome.kind == Outcome::Kind::kElement ? recorder::CurrentTrack() : nullptr;
    ring_.Push(ticket, std::move(outcome), [&] {
      if (track == nullptr) return;
      track->Push(options_.queue, item, static_cast<uint32_t>(ring_.depth()), NowTicks());
    });
  }
  // No job is taken once the input has ended, so the last one that is done knows that it is.
  if (at_work_.fetch_sub(1) == 1 && !options_.ordered && ended_ && !end_pushed_.exchange(true)) {
    ring_.Push(ring_.DrawTicket(), Outcome(), [] {});
  }
}

Result<std::optional<Element>> WorkerStage::Next() {
  while (!at_end_) {
    Outcome outcome;
    if (!ring_.Pop(outcome)) return CancelledError();
    switch (outcome.kind) {
      case Outcome::Kind::kElement:
        RecordPop(outcome.element);
        return std::optional<Element>(std::move(outcome.element));
      case Outcome::Kind::kLeftOut:
        break;
      case Outcome::Kind::kError:
        return std::move(*outcome.error);
      case Outcome::Kind::kEnd:
        at_end_ = true;
        break;
    }
  }
  return std::optional<Element>();
}

void WorkerStage::RecordPop(const Element& element) {
  recorder::Track* const track = recorder::CurrentTrack();
  if (track == nullptr) return;
  track->Pop(options_.queue, element.item, static_cast<uint32_t>(ring_.depth()), NowTicks());
  // An element may leave when it and all before it are done; what it waits after that is the
  // queue's doing, not the order's.
  if (!options_.ordered || target_ == 1) return;
  if (released_ > element.completed) {
    track->Release(options_.stage, element.item, element.completed, released_);
  } else {
    released_ = element.completed;
  }
}

void WorkerStage::Restart(uint32_t epoch) {
  {
    const std::lock_guard lock(input_mutex_);
    input_->Restart(epoch);
    ended_ = false;
    end_pushed_ = false;
    at_end_ = false;
  }
  turn_.notify_all();
}

}  // namespace stallscope::pipeline
