// Threads whose failures are errors, not the end of the program.
//
// std::thread throws where no thread can be had, and ends the program where its body throws. Here
// both are an Error of whoever owns the thread. Nothing else in the house starts a thread; tests of
// the house look after that. Any thread.
#ifndef STALLSCOPE_ANALYZER_BASE_THREAD_H_
#define STALLSCOPE_ANALYZER_BASE_THREAD_H_

#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "analyzer/base/result.h"

namespace stallscope {

// What the exception that is being handled means: kRun. Also where no memory is left to say so.
Error CaughtError() noexcept;

// Calls `body`, which returns a Status or a Result; what it throws is its error.
template <class Body>
auto Guarded(Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (...) {
    return CaughtError();
  }
}

// Runs `body` on a thread of its own. What it throws ends that thread alone, which calls `failed`
// last: that must tell the owner, ask for no memory, and not throw. kRun where there is no thread
// to be had.
Result<std::thread> StartThread(std::function<void()> body, std::function<void(Error)> failed);

// Threads of one owner. Belongs to one thread at a time; what the bodies use must outlive it.
class ThreadGroup {
 public:
  ThreadGroup() = default;
  ~ThreadGroup() { Join(); }
  ThreadGroup(const ThreadGroup&) = delete;
  ThreadGroup& operator=(const ThreadGroup&) = delete;

  // One more, as StartThread has it.
  Status Start(std::function<void()> body, std::function<void(Error)> failed);
  // Waits for all of them; whoever calls it has told them to end.
  void Join();
  size_t size() const { return threads_.size(); }

 private:
  std::vector<std::thread> threads_;
};

// Calls piece(i) once for each i below `count` on up to `threads` threads, the caller's among them,
// and returns when all are done. Threads that cannot be had are done without, so what the pieces
// write must not depend on which thread runs them. What one throws, the call throws.
void ForEachParallel(size_t count, unsigned threads, const std::function<void(size_t)>& piece);

// For tests: while it lives, the `nth` start from now (1 is the next) and all later ones fail as
// they do at the limit on processes. 0: they are only counted. One at a time.
class ThreadStartFault {
 public:
  explicit ThreadStartFault(uint64_t nth);
  ~ThreadStartFault();
  ThreadStartFault(const ThreadStartFault&) = delete;
  ThreadStartFault& operator=(const ThreadStartFault&) = delete;
  uint64_t starts() const;  // tried so far
};

}  // namespace stallscope

#endif  // STALLSCOPE_ANALYZER_BASE_THREAD_H_
