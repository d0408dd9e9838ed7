// The data that a spec's run would read, without running it: is it there, and is it unchanged? Any
// thread.
#pragma once

#include <string>
#include <vector>

#include "analyzer/base/result.h"
#include "analyzer/spec/spec.h"

namespace stallscope::capture {

struct DataFiles {
  std::vector<std::string> paths;
  std::string fingerprint;  // as in a trace of the run; empty for generated data
};

// A pattern that matches nothing is the error that the run itself would fail with.
Result<DataFiles> FindDataFiles(const Spec& spec);

}  // namespace stallscope::capture
