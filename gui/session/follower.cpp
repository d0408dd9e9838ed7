#include "gui/session/follower.h"

#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include "analyzer/base/clock.h"

namespace stallscope::session {
namespace {

// A recorder flushes every 100 ms; twice as often would show nothing more.
constexpr std::chrono::milliseconds kPeriod{200};

}  // namespace

Follower::Follower(Workers& workers, Tell tell, Failed failed)
    : workers_(workers), tell_(std::move(tell)), failed_(std::move(failed)) {}

Follower::~Follower() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.Join();
}

void Follower::Watch(RunNumber run, const std::string& path, uint64_t bytes, int64_t rest_ns) {
  {
    const std::lock_guard lock(mutex_);
    files_[run] = {path, bytes, MonotonicNs() + rest_ns};
  }
  changed_.notify_all();
  if (thread_.size() > 0) return;
  const auto fail = [this](Error error) { Fail(std::move(error)); };
  if (Status started = thread_.Start([this] { Run(); }, fail); !started.ok()) {
    fail(std::move(started).error());
  }
}

void Follower::Fail(Error error) {
  // Handing over needs memory; where there is not even that, the files are no longer followed.
  static_cast<void>(Guarded([&]() -> Status {
    workers_.HandOver([this, error = std::move(error)] { failed_(error); });
    return {};
  }));
}

void Follower::Forget(RunNumber run) {
  const std::lock_guard lock(mutex_);
  files_.erase(run);
}

void Follower::Run() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (files_.empty()) {
      changed_.wait(lock, [&] { return stop_ || !files_.empty(); });
    } else {
      changed_.wait_for(lock, kPeriod, [&] { return stop_; });
    }
    if (!stop_) Look();
  }
}

// Under the mutex: a look at a size is short.
void Follower::Look() {
  const int64_t now_ns = MonotonicNs();
  for (auto file = files_.begin(); file != files_.end();) {
    if (now_ns < file->second.not_before_ns) {
      ++file;
      continue;
    }
    const RunNumber run = file->first;
    std::error_code failed;
    const uint64_t bytes = std::filesystem::file_size(file->second.path, failed);
    if (!failed && bytes == file->second.bytes) {
      ++file;
      continue;
    }
    Event event = Event::kVanished;
    if (!failed) event = bytes > file->second.bytes ? Event::kGrew : Event::kShrank;
    const uint64_t now = failed ? 0 : bytes;
    workers_.HandOver([this, run, event, now] { tell_(run, event, now); });
    file = files_.erase(file);
  }
}

}  // namespace stallscope::session
