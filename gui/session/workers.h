// Background work: each job has its own thread, reports progress, can be canceled, and hands its
// results over as calls that the owner makes when it polls.
//
// One thread owns the workers; a job owns what it touches until it hands it over. The destructor
// cancels all jobs and waits for them; what they have not handed over is dropped.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "analyzer/base/thread.h"
#include "gui/session/state.h"

namespace stallscope::session {

// A job as its thread sees it.
class Ticket {
 public:
  using Call = std::function<void()>;

  bool cancelled() const { return cancelled_; }
  const std::atomic<bool>& cancel_flag() const { return cancelled_; }
  // 0 to 1, or empty where unknown.
  void Tell(std::string detail, std::optional<double> done = std::nullopt);
  // The owner makes the calls when it polls, in this order.
  void HandOver(Call call);
  // From here on it writes nothing and has no child, so the process may exit in the middle of it.
  void OnlyComputes();

 private:
  friend class Workers;
  Ticket(class Workers& workers, Job job) : workers_(workers), job_(std::move(job)) {}

  class Workers& workers_;
  std::atomic<bool> cancelled_{false};
  bool only_computes_ = false;  // under the workers' mutex
  Job job_;                     // under the workers' mutex
};

class Workers {
 public:
  using Failed = std::function<void(const Error&)>;

  // Any thread calls `wake` when there is something to poll; Poll calls `complain` for each job
  // that got no thread or no memory. Both may be empty.
  explicit Workers(std::function<void()> wake, Failed complain = {})
      : wake_(std::move(wake)), complain_(std::move(complain)) {}
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // As the destructor; nothing may be started afterward.
  void End();
  // Cancels all jobs, and waits for those that do more than compute. False if others still compute:
  // an exiting process need not wait for them, and leaves by std::_Exit.
  bool EndWhatMatters();

  // Poll calls `failed` if the work could not start or threw, so that nothing waits for its
  // results.
  JobNumber Start(JobKind kind, std::string title, std::function<void(Ticket&)> work,
                  Failed failed = {});
  void Cancel(JobNumber number);
  void Cancel(JobKind kind);
  // Makes all calls that were handed over. True if there was one, or if a job ended.
  bool Poll();
  std::vector<Job> Running() const;
  // Nothing to poll, and no job left but those for which `goes_on` holds.
  bool Idle(bool (*goes_on)(JobKind)) const;
  // For threads that are not jobs.
  void HandOver(Ticket::Call call);
  // Waits until something is handed over or a job ends; at most `ms`.
  void Await(int ms);

 private:
  friend class Ticket;
  struct Entry {
    std::shared_ptr<Ticket> ticket;
    Failed failed;
    std::thread thread;  // none if it could not be started
    std::optional<Error> error;
    bool ended = false;
  };
  void Wake();
  // By the thread of a job; with the mutex held.
  void Ended(const Ticket* ticket, std::optional<Error> error);

  const std::function<void()> wake_;
  const Failed complain_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Entry> jobs_;
  std::vector<Ticket::Call> calls_;
  JobNumber last_number_ = 0;
};

}  // namespace stallscope::session
