// Work beside the window: each job has a thread of its own, tells how far it is, can be asked to
// end, and hands its results over as calls that the owner makes when it wants to.
//
// One thread owns the workers; what a job touches is its own until it has handed it over. The
// destructor asks all jobs to end and waits for them; what they had not handed over by then is
// dropped.
#ifndef STALLSCOPE_GUI_SESSION_WORKERS_H_
#define STALLSCOPE_GUI_SESSION_WORKERS_H_

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
  // 0 to 1, or nothing where it is not known.
  void Tell(std::string detail, std::optional<double> done = std::nullopt);
  // The owner makes the call when it polls, in the order of the handing over.
  void HandOver(Call call);
  // From here on it writes nothing and has no child: the process may end in the middle of it.
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

  // `wake` is called by any thread when there is something to poll; `complain` when it is polled,
  // for each job that there was no thread or no memory for. Both may be empty.
  explicit Workers(std::function<void()> wake, Failed complain = {})
      : wake_(std::move(wake)), complain_(std::move(complain)) {}
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // As the destructor does; nothing may be started after it.
  void End();
  // Asks all jobs to end, and waits for those that do more than compute. False where others still
  // do: a process that is about to end need not wait for them, and leaves by std::_Exit.
  bool EndWhatMatters();

  // `failed` is called when it is polled, where the work could not begin or threw: whatever waits
  // for what the job was to hand over waits no longer.
  JobNumber Start(JobKind kind, std::string title, std::function<void(Ticket&)> work,
                  Failed failed = {});
  void Cancel(JobNumber number);
  void Cancel(JobKind kind);
  // Makes all calls that were handed over. True where there was one, or where a job ended.
  bool Poll();
  std::vector<Job> Running() const;
  // Nothing waits to be polled, and no job is left but those that go on by themselves.
  bool Idle(bool (*goes_on)(JobKind)) const;
  // For threads that are no jobs.
  void HandOver(Ticket::Call call);
  // Until something was handed over or a job ended; at most `ms`.
  void Await(int ms);

 private:
  friend class Ticket;
  struct Entry {
    std::shared_ptr<Ticket> ticket;
    Failed failed;
    std::thread thread;  // none where it could not be started
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

#endif  // STALLSCOPE_GUI_SESSION_WORKERS_H_
