// Random runs: small ones for brute force, and ones with everything in them that a run can have.
#pragma once

#include <cstdint>

#include "analyzer/model/run.h"
#include "tests/support/random.h"

namespace stallscope::test {

struct RandomShape {
  int64_t horizon_ns = 400;  // everything happens in [-20, about this]
  // Steps overlap, run backwards and share indices; spans of a track overlap without nesting.
  bool sloppy = false;
  bool threads = true;  // stages, workers, batches; false: device and steps only
};

model::Run RandomRun(Random& random, const RandomShape& shape);

}  // namespace stallscope::test
