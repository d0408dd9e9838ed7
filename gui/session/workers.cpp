#include "gui/session/workers.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace stallscope::session {

void Ticket::Tell(std::string detail, std::optional<double> done) {
  {
    const std::lock_guard lock(workers_.mutex_);
    job_.detail = std::move(detail);
    job_.done = done;
  }
  workers_.Wake();
}

void Ticket::HandOver(Call call) { workers_.HandOver(std::move(call)); }

void Ticket::OnlyComputes() {
  {
    const std::lock_guard lock(workers_.mutex_);
    only_computes_ = true;
  }
  workers_.changed_.notify_all();
}

void Workers::HandOver(Ticket::Call call) {
  {
    const std::lock_guard lock(mutex_);
    calls_.push_back(std::move(call));
  }
  Wake();
}

Workers::~Workers() { End(); }

void Workers::End() {
  std::vector<Entry> jobs;
  {
    const std::lock_guard lock(mutex_);
    for (Entry& entry : jobs_) entry.ticket->cancelled_ = true;
    jobs.swap(jobs_);
  }
  for (Entry& entry : jobs) {
    if (entry.thread.joinable()) entry.thread.join();
  }
}

void Workers::Ended(const Ticket* ticket, std::optional<Error> error) {
  for (Entry& entry : jobs_) {
    if (entry.ticket.get() != ticket) continue;
    entry.ended = true;
    entry.error = std::move(error);
  }
}

bool Workers::EndWhatMatters() {
  std::unique_lock lock(mutex_);
  for (Entry& entry : jobs_) entry.ticket->cancelled_ = true;
  changed_.wait(lock, [&] {
    return std::all_of(jobs_.begin(), jobs_.end(), [](const Entry& entry) {
      return entry.ended || entry.ticket->only_computes_;
    });
  });
  return std::all_of(jobs_.begin(), jobs_.end(), [](const Entry& entry) { return entry.ended; });
}

void Workers::Wake() {
  changed_.notify_all();
  if (wake_) wake_();
}

JobNumber Workers::Start(JobKind kind, std::string title, std::function<void(Ticket&)> work,
                         Failed failed) {
  Job job;
  job.number = ++last_number_;
  job.kind = kind;
  job.title = std::move(title);
  const std::shared_ptr<Ticket> ticket(new Ticket(*this, job));
  const auto end = [this, at = ticket.get()](std::optional<Error> error) {
    {
      const std::lock_guard inner(mutex_);
      Ended(at, std::move(error));
    }
    Wake();
  };
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back({ticket, std::move(failed), {}, {}, false});
    auto started = StartThread(
        [ticket, end, work = std::move(work)] {
          work(*ticket);
          end(std::nullopt);
        },
        end);
    if (started.ok()) {
      jobs_.back().thread = std::move(started).value();
      return job.number;
    }
    Ended(ticket.get(), std::move(started).error());
  }
  Wake();
  return job.number;
}

void Workers::Cancel(JobNumber number) {
  const std::lock_guard lock(mutex_);
  for (Entry& entry : jobs_) {
    if (entry.ticket->job_.number != number) continue;
    entry.ticket->cancelled_ = true;
    entry.ticket->job_.cancelled = true;
  }
}

void Workers::Cancel(JobKind kind) {
  const std::lock_guard lock(mutex_);
  for (Entry& entry : jobs_) {
    if (entry.ticket->job_.kind != kind) continue;
    entry.ticket->cancelled_ = true;
    entry.ticket->job_.cancelled = true;
  }
}

bool Workers::Poll() {
  std::vector<Ticket::Call> calls;
  std::vector<Entry> ended;
  {
    const std::lock_guard lock(mutex_);
    calls.swap(calls_);
    const auto first = std::stable_partition(jobs_.begin(), jobs_.end(),
                                             [](const Entry& entry) { return !entry.ended; });
    std::move(first, jobs_.end(), std::back_inserter(ended));
    jobs_.erase(first, jobs_.end());
  }
  for (Entry& entry : ended) {
    if (entry.thread.joinable()) entry.thread.join();
  }
  for (const Ticket::Call& call : calls) call();
  for (Entry& entry : ended) {
    if (!entry.error.has_value()) continue;
    if (entry.error->where.empty()) entry.error->where = entry.ticket->job_.title;
    if (complain_) complain_(*entry.error);
    if (entry.failed) entry.failed(*entry.error);
  }
  return !calls.empty() || !ended.empty();
}

std::vector<Job> Workers::Running() const {
  const std::lock_guard lock(mutex_);
  std::vector<Job> jobs;
  for (const Entry& entry : jobs_) {
    if (!entry.ended) jobs.push_back(entry.ticket->job_);
  }
  return jobs;
}

bool Workers::Idle(bool (*goes_on)(JobKind)) const {
  const std::lock_guard lock(mutex_);
  return calls_.empty() && std::all_of(jobs_.begin(), jobs_.end(), [&](const Entry& entry) {
           return !entry.ended && goes_on(entry.ticket->job_.kind);
         });
}

void Workers::Await(int ms) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::milliseconds(ms), [&] {
    return !calls_.empty() ||
           std::any_of(jobs_.begin(), jobs_.end(), [](const Entry& entry) { return entry.ended; });
  });
}

}  // namespace stallscope::session
