// Watches files that are still written. A thread of its own looks at their sizes a few times a
// second, and sleeps while there is nothing to watch; what it sees is told to its owner through the
// workers. Belongs to the session's thread.
#ifndef STALLSCOPE_GUI_SESSION_FOLLOWER_H_
#define STALLSCOPE_GUI_SESSION_FOLLOWER_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "analyzer/base/thread.h"
#include "gui/session/open_run.h"
#include "gui/session/workers.h"

namespace stallscope::session {

class Follower {
 public:
  enum class Event : uint8_t { kGrew, kShrank, kVanished };
  using Tell = std::function<void(RunNumber, Event, uint64_t bytes)>;

  using Failed = std::function<void(const Error&)>;

  // Both are called by the session's thread, when it polls the workers; `failed` where there is no
  // thread or no memory for the watching.
  Follower(Workers& workers, Tell tell, Failed failed);
  ~Follower();
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  // After `rest_ns`; `bytes` is what was read of it. One event is told, then the file must be
  // watched anew: whoever reads it again says when it is ready for more.
  void Watch(RunNumber run, const std::string& path, uint64_t bytes, int64_t rest_ns);
  void Forget(RunNumber run);

 private:
  struct Watched {
    std::string path;
    uint64_t bytes = 0;
    int64_t not_before_ns = 0;  // of the monotonic clock
  };
  void Fail(Error error);
  void Run();
  void Look();

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

#endif  // STALLSCOPE_GUI_SESSION_FOLLOWER_H_
