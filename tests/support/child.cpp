#include "tests/support/child.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace stallscope::test {
namespace {

constexpr int kDone = 42;

int64_t MaxRssBytes() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

}  // namespace

ChildResult RunInChild(const std::function<void()>& work) {
  void* page =
      mmap(nullptr, sizeof(int64_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) std::abort();
  auto* grown = static_cast<int64_t*>(page);
  const pid_t child = fork();
  if (child < 0) std::abort();
  if (child == 0) {
    const int64_t before = MaxRssBytes();
    work();
    *grown = MaxRssBytes() - before;
    _exit(kDone);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ChildResult result;
  result.done = WIFEXITED(status) && WEXITSTATUS(status) == kDone;
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  result.grown_bytes = *grown;
  munmap(page, sizeof(int64_t));
  return result;
}

bool MemoryIsMeasurable() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  return false;
#else
  return true;
#endif
#else
  return true;
#endif
}

}  // namespace stallscope::test
