// A program that runs out of memory on command, in the threads that it starts.
//
// The .cpp takes the place of operator new: name it among the sources of a test program that wants
// that, and of no other.
#pragma once

#include <cstdint>

namespace stallscope::test {

// While one lives, every allocation from the `first`-th (from 1) on fails that another thread makes
// than the one that made the object, and than the recorder's flusher. What the flusher builds is
// protobuf's, which crashes where one of its own allocations throws (3.21). One at a time, of one
// thread.
class AllocationFault {
 public:
  explicit AllocationFault(int64_t first);
  ~AllocationFault();
  AllocationFault(const AllocationFault&) = delete;
  AllocationFault& operator=(const AllocationFault&) = delete;
};

}  // namespace stallscope::test
