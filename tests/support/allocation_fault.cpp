#include "tests/support/allocation_fault.h"

#include <sys/prctl.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

std::atomic<int64_t> first_to_fail{0};  // 0: none
std::atomic<int64_t> asked{0};
thread_local bool of_the_test = false;

bool IsFlusher() {
  char name[16] = {};
  return prctl(PR_GET_NAME, name) == 0 && std::strcmp(name, "sst-flusher") == 0;
}

}  // namespace

void* operator new(size_t size) {
  const int64_t first = first_to_fail.load(std::memory_order_relaxed);
  const bool fails = first != 0 && !of_the_test && !IsFlusher() && asked.fetch_add(1) + 1 >= first;
  void* const memory = fails ? nullptr : std::malloc(size > 0 ? size : 1);
  if (memory != nullptr) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace stallscope::test {

AllocationFault::AllocationFault(int64_t first) {
  of_the_test = true;
  asked = 0;
  first_to_fail = first;
}
AllocationFault::~AllocationFault() { first_to_fail = 0; }

}  // namespace stallscope::test
