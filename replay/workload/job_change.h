// Other settings for a recorded job, and what the recording does not show about them. Private to
// the room (WithSpec); any thread.
#pragma once

#include <string>
#include <vector>

#include "replay/workload/workload.h"

namespace stallscope::replay {

struct JobChange {
  std::string unpriceable;  // as in Changed
  std::string by_name_only;
  double doubt = 0;
  std::vector<std::string> assumptions;
};

// `recorded` must be a job's.
JobChange CompareJob(const Recorded& recorded, const Spec& to);

}  // namespace stallscope::replay
