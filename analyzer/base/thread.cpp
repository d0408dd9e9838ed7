#include "analyzer/base/thread.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace stallscope {
namespace {

// The seam of ThreadStartFault.
std::atomic<uint64_t> starts_tried{0};
std::atomic<uint64_t> first_to_fail{0};  // 0: none

void TryStart() {
  const uint64_t number = starts_tried.fetch_add(1) + 1;
  const uint64_t first = first_to_fail.load();
  if (first != 0 && number >= first) {
    throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  }
}

// Short enough to need no memory of its own.
Error OutOfMemory() noexcept { return Error{ErrorKind::kRun, "out of memory", "", ""}; }

// "", or " (limits: 120 processes and threads of this user, 400 MiB of memory)": the missing
// resource may also be memory for the stack, and the error is the same.
std::string Limits() {
  std::string text;
  rlimit limit{};
  if (getrlimit(RLIMIT_NPROC, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    text = std::to_string(limit.rlim_cur) + " processes and threads of this user";
  }
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    text += (text.empty() ? "" : ", ") + std::to_string(limit.rlim_cur >> 20) + " MiB of memory";
  }
  return text.empty() ? "" : " (limits: " + text + ")";
}

Error NoThread(const std::system_error& error) {
  return Error{ErrorKind::kRun,
               "cannot start another thread" + Limits() + ": " + error.code().message(), "",
               "raise the limit on processes (ulimit -u) or on memory (ulimit -v), or lower the "
               "parallelism"};
}

}  // namespace

Error CaughtError() noexcept {
  try {
    try {
      throw;
    } catch (const std::bad_alloc&) {
    } catch (const std::length_error&) {  // more than any machine has
    } catch (const std::exception& error) {
      return Error{ErrorKind::kRun, error.what(), "", ""};
    } catch (...) {
      return Error{ErrorKind::kRun, "an unknown exception", "", ""};
    }
    Error error = OutOfMemory();
    error.hint =
        "free some memory or raise its limit; a run needs less with a lower batch size, shuffle "
        "buffer or parallelism";
    return error;
  } catch (...) {
    return OutOfMemory();
  }
}

Result<std::thread> StartThread(std::function<void()> body, std::function<void(Error)> failed) {
  return Guarded([&]() -> Result<std::thread> {
    try {
      TryStart();
      return std::thread([body = std::move(body), failed = std::move(failed)]() mutable {
        try {
          body();
        } catch (...) {
          failed(CaughtError());
        }
      });
    } catch (const std::system_error& error) {
      return NoThread(error);
    }
  });
}

Status ThreadGroup::Start(std::function<void()> body, std::function<void(Error)> failed) {
  return Guarded([&]() -> Status {
    threads_.reserve(threads_.size() + 1);  // a running thread must have its place
    STALLSCOPE_ASSIGN_OR_RETURN(std::thread thread,
                                StartThread(std::move(body), std::move(failed)));
    threads_.push_back(std::move(thread));
    return {};
  });
}

void ThreadGroup::Join() {
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void ForEachParallel(size_t count, unsigned threads, const std::function<void(size_t)>& piece) {
  // In one place, so that a thread only needs one address, and no memory.
  struct {
    std::atomic<size_t> next{0};
    std::mutex mutex;
    std::exception_ptr thrown;
    size_t count;
    const std::function<void(size_t)>* piece;

    void Work() noexcept {
      try {
        for (size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) (*piece)(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (thrown == nullptr) thrown = std::current_exception();
        next = count;
      }
    }
  } shared;
  shared.count = count;
  shared.piece = &piece;
  ThreadGroup others;
  const size_t wanted = std::min<size_t>(std::max(threads, 1u), std::max<size_t>(count, 1)) - 1;
  while (others.size() < wanted) {
    if (!others.Start([&shared] { shared.Work(); }, [](const Error&) {}).ok()) break;
  }
  shared.Work();
  others.Join();
  if (shared.thrown != nullptr) std::rethrow_exception(shared.thrown);
}

ThreadStartFault::ThreadStartFault(uint64_t nth) {
  starts_tried = 0;
  first_to_fail = nth;
}
ThreadStartFault::~ThreadStartFault() { first_to_fail = 0; }
uint64_t ThreadStartFault::starts() const { return starts_tried.load(); }

}  // namespace stallscope
