// A run put together by hand, as our own pipeline records one: a source and a map that sleeps in
// the threads of a prefetch, batches of 16, an emulated device. Times are exact.
#pragma once

#include <cstdint>

#include "analyzer/model/run.h"

namespace stallscope::test {

struct MadeRunOptions {
  int64_t fetch_us = 1000;    // of an element
  int64_t fetch_cpu_us = 20;  // thereof on a core
  int64_t compute_us = 8000;  // of a step
  int64_t steps = 60;
  bool with_spec = true;
};

constexpr int64_t kMadeBatch = 16;

// The step takes what the slower of the two takes: they overlap.
model::Run MakeRun(const MadeRunOptions& options = {});

}  // namespace stallscope::test
