// What the victim has emitted so far, in memory shared with the test that kills it.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <string>

namespace stallscope::test {

struct Progress {
  static constexpr uint64_t kThreads = 3;
  static constexpr uint64_t kTimes = uint64_t{1} << 20;
  // Per thread: how many spans it has begun and finished emitting, and when it began each.
  std::atomic<uint64_t> begun[kThreads];
  std::atomic<uint64_t> finished[kThreads];
  std::atomic<int64_t> time_ns[kThreads][kTimes];
};

inline Progress* MapProgress(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT, 0644);
  if (fd < 0 || ftruncate(fd, sizeof(Progress)) != 0) return nullptr;
  void* memory = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return memory == MAP_FAILED ? nullptr : static_cast<Progress*>(memory);
}

}  // namespace stallscope::test
