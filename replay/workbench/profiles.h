// What frameworks' profilers wrote beside a recorded job, joined into its trace. One thread at a
// time.
#pragma once

#include <string>
#include <vector>

#include "analyzer/base/result.h"
#include "analyzer/model/join.h"

namespace stallscope::workbench {

// Of a window of the job's steps; any format that can be opened.
struct FrameworkProfile {
  std::string path;
  model::ProfileWindow window;
};

// The trace is replaced whole or not at all. A profile that cannot be read or does not fit is left
// out, and a warning of the trace says so.
Status JoinProfiles(const std::string& trace, const std::vector<FrameworkProfile>& profiles);

}  // namespace stallscope::workbench
