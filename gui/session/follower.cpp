#include "gui/session/follower.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include "analyzer/base/clock.h"
#include "analyzer/base/file.h"
#include "analyzer/base/units.h"

namespace stallscope::session {
namespace {

// A recorder flushes every 100 ms; twice as often would show nothing more.
constexpr std::chrono::milliseconds kPeriod{200};
// Without a lock to look at: twenty flushes that did not come.
constexpr int64_t kSilenceNs = 2 * kNsPerSecond;

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

void Follower::Watch(RunNumber run, const std::string& path, uint64_t bytes, int64_t rest_ns,
                     bool live) {
  {
    const std::lock_guard lock(mutex_);
    const auto [at, first] = files_.try_emplace(run);
    Watched& file = at->second;
    const int64_t now_ns = MonotonicNs();
    if (first) file.had_lock = live;
    if (live && !file.live) file.grown_at_ns = now_ns;
    file.path = path;
    file.bytes = bytes;
    file.not_before_ns = now_ns + rest_ns;
    file.live = live;
    file.told = false;
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
    if (!Watches()) {
      changed_.wait(lock, [&] { return stop_ || Watches(); });
    } else {
      changed_.wait_for(lock, kPeriod, [&] { return stop_; });
    }
    if (!stop_) Look();
  }
}

bool Follower::Watches() const {
  return std::any_of(files_.begin(), files_.end(),
                     [](const auto& file) { return !file.second.told; });
}

std::optional<Follower::Event> Follower::LookAt(Watched& file, uint64_t& bytes) {
  const int64_t now_ns = MonotonicNs();
  // Before the size: what a recorder appended last is seen by whoever saw that it was gone.
  const bool locked = HasWriter(file.path);
  file.had_lock = file.had_lock || locked;
  std::error_code failed;
  bytes = std::filesystem::file_size(file.path, failed);
  if (!failed && bytes == file.bytes) {
    const bool silent = file.had_lock || now_ns - file.grown_at_ns >= kSilenceNs;
    if (file.live && !locked && silent) return Event::kAbandoned;
    // Another recorder has taken the name, and what it wrote first was read already.
    if (!file.live && locked) return Event::kGrew;
    return std::nullopt;
  }
  if (!failed && bytes > file.bytes) file.grown_at_ns = now_ns;
  if (now_ns < file.not_before_ns) return std::nullopt;
  if (failed) return Event::kVanished;
  return bytes > file.bytes ? Event::kGrew : Event::kShrank;
}

// Under the mutex: a look at a size and a lock is short.
void Follower::Look() {
  for (auto& [number, file] : files_) {
    if (file.told) continue;
    uint64_t bytes = 0;
    const auto event = LookAt(file, bytes);
    if (!event.has_value()) continue;
    file.told = true;
    workers_.HandOver([this, run = number, seen = *event, bytes] { tell_(run, seen, bytes); });
  }
}

}  // namespace stallscope::session
