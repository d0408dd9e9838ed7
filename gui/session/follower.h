// Watches traces without a seal. Its thread checks a few times a second how large they are and
// whether their recorder is alive, sleeps while there is nothing to watch, and reports to the owner
// through the workers. Belongs to the session's thread.
//
// A recorder locks its trace for as long as it appends (base/file.h): a lock that is gone without a
// seal means that it died. On a file system without locks, a growing file is a recording.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "analyzer/base/thread.h"
#include "gui/session/open_run.h"
#include "gui/session/workers.h"

namespace stallscope::session {

class Follower {
 public:
  enum class Event : uint8_t { kGrew, kShrank, kVanished, kAbandoned };
  using Tell = std::function<void(RunNumber, Event, uint64_t bytes)>;

  using Failed = std::function<void(const Error&)>;

  // Both are called by the session's thread when it polls the workers; `failed` if there is no
  // thread or no memory for watching.
  Follower(Workers& workers, Tell tell, Failed failed);
  ~Follower();
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  // `bytes` were read so far. Reports one event; call it again after reading the file. Growth is
  // reported after `rest_ns`, a dead recorder only of a `live` file. A locked file starts out live.
  void Watch(RunNumber run, const std::string& path, uint64_t bytes, int64_t rest_ns, bool live);
  void Forget(RunNumber run);

 private:
  struct Watched {
    std::string path;
    uint64_t bytes = 0;
    int64_t not_before_ns = 0;  // of the monotonic clock
    bool live = false;
    bool told = false;        // nothing more until it is watched again
    bool had_lock = false;    // so its file system has locks
    int64_t grown_at_ns = 0;  // when it was last seen to be larger
  };
  void Fail(Error error);
  void Run();
  void Look();
  bool Watches() const;
  static std::optional<Event> LookAt(Watched& file, uint64_t& bytes);

  Workers& workers_;
  const Tell tell_;
  const Failed failed_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<RunNumber, Watched> files_;
  bool stop_ = false;
  ThreadGroup thread_;  // from the first file on
};

}  // namespace stallscope::session
