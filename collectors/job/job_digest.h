// The digests that a job's processes give of their loaders' batches, and the run's own: that of the
// loader that fed most steps. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/trace/events.h"

namespace stallscope::job {

// Of the loaders that one line of the job constructs, in one process.
struct LoaderDigest {
  std::string place;  // the same in every process
  std::string hash;   // 32 hexadecimal digits
  uint64_t batches = 0;
  uint64_t steps = 0;
  uint64_t hashing_ns = 0;
  bool ordered = true;
  std::vector<std::string> missing;  // what of the batches is not hashed
};

bool IsDigest(std::string_view hash);

// Sets the run's digest, and says what it is not of. Ranks, which iterate each over a loader of the
// same line, are added up: which of them is the first one changes from run to run.
void SetDigest(const std::vector<LoaderDigest>& digests, trace::RunInfo& run);

}  // namespace stallscope::job
