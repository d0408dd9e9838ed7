// Threads whose failures are errors, not the end of the program.
//
// std::thread throws if no thread can be created, and ends the program if its body throws. Here
// both become an Error of the thread's owner. Nothing else in the program starts threads, which a
// house test checks. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "analyzer/base/result.h"

namespace stallscope {

// The exception being handled as an Error: kRun. Works even if no memory is left.
Error CaughtError() noexcept;

// Calls `body`, which returns a Status or a Result; an exception becomes its error.
template <class Body>
auto Guarded(Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (...) {
    return CaughtError();
  }
}

// Runs `body` on a thread of its own. An exception ends only that thread, which finally calls
// `failed`: that must tell the owner, allocate no memory, and not throw. kRun if no thread can be
// created.
Result<std::thread> StartThread(std::function<void()> body, std::function<void(Error)> failed);

// Threads of one owner. Belongs to one thread at a time; what the bodies use must outlive it.
class ThreadGroup {
 public:
  ThreadGroup() = default;
  ~ThreadGroup() { Join(); }
  ThreadGroup(const ThreadGroup&) = delete;
  ThreadGroup& operator=(const ThreadGroup&) = delete;

  // One more, as with StartThread.
  Status Start(std::function<void()> body, std::function<void(Error)> failed);
  // Waits for all of them; the caller has told them to end.
  void Join();
  size_t size() const { return threads_.size(); }

 private:
  std::vector<std::thread> threads_;
};

// Calls piece(i) once for each i below `count` on up to `threads` threads, the caller's among them,
// and returns when all are done. It does without threads that cannot be created, so what the pieces
// write must not depend on which thread runs them. An exception in one is thrown by the call.
void ForEachParallel(size_t count, unsigned threads, const std::function<void(size_t)>& piece);

// For tests: while it lives, the `nth` start from now (1 is the next) and all later ones fail as if
// at the process limit. 0: only counts. One at a time.
class ThreadStartFault {
 public:
  explicit ThreadStartFault(uint64_t nth);
  ~ThreadStartFault();
  ThreadStartFault(const ThreadStartFault&) = delete;
  ThreadStartFault& operator=(const ThreadStartFault&) = delete;
  uint64_t starts() const;  // attempted so far
};

}  // namespace stallscope
