// Runs a piece of a test in a process of its own, to see what it costs and whether it comes back.
#pragma once

#include <cstdint>
#include <functional>

namespace stallscope::test {

struct ChildResult {
  bool done = false;  // it returned, and was not ended by a signal
  int signal = 0;
  int64_t grown_bytes = 0;  // its largest resident size beyond what it began with
};

// The calling process must have one thread only.
ChildResult RunInChild(const std::function<void()>& work);

// Whether memory figures mean something: sanitizers multiply them.
bool MemoryIsMeasurable();

}  // namespace stallscope::test
