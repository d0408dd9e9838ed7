// Joins the files of frameworks' profilers into the trace of a recorded job. One thread at a time.
#pragma once

#include <string>
#include <vector>

#include "analyzer/base/result.h"
#include "analyzer/model/join.h"

namespace stallscope::workbench {

// A profile of a window of the job's steps, in any format that can be opened.
struct FrameworkProfile {
  std::string path;
  model::ProfileWindow window;
};

// Replaces the trace whole or not at all. A profile that cannot be read or does not match is left
// out, with a warning in the trace.
Status JoinProfiles(const std::string& trace, const std::vector<FrameworkProfile>& profiles);

}  // namespace stallscope::workbench
