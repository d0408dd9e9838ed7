// What is known about a run besides its times: host, device, job, spec, losses. Any thread.
#pragma once

#include <string>
#include <vector>

#include "gui/session/state.h"
#include "gui/viewmodel/overview.h"
#include "gui/viewmodel/table.h"

namespace stallscope::viewmodel {

struct FactGroup {
  std::string title;  // "Host", "Device", "Trace", "Losses"
  std::vector<Figure> facts;
};

struct RunFacts {
  TrustLine trust;
  std::string assumed;  // AssumedOn; empty
  std::vector<FactGroup> groups;
  std::vector<std::string> limits;  // what this trace cannot show
  std::string spec;                 // indented; empty: none
  std::string command_line;
  Table processes;  // of a job
  Table kernels;
  Table copies;
  Table tracks;  // spans, dropped
};

RunFacts BuildRunFacts(const session::State& state);

}  // namespace stallscope::viewmodel
