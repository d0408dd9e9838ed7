// What stallscope can see on this machine, what limits a pipeline here, and what to do about it.
//
// Diagnose() reads every source of counters once, measures the clock, and checks the limits that a
// user forgets: quota, affinity, memory limit, swap, governor. It takes under a tenth of a second
// (with GPUs 40 ms more for each). Any thread.
#pragma once

#include <string>
#include <vector>

#include "collectors/system/counters.h"

namespace stallscope::system {

enum class CheckState {
  kOk,
  kMissing,  // something that stallscope could use is absent
  kLimited,  // it is present, and limits a pipeline or a measurement
};
const char* CheckStateName(CheckState state);  // "ok", "missing", "limited"

struct Check {
  std::string name;
  CheckState state = CheckState::kOk;
  std::string detail;  // what was found
  std::string advice;  // what to do; empty where there is nothing to do
};

struct CounterState {
  CounterRow row;
  bool present = false;
  std::string reason;  // why it is absent
};

struct DoctorOptions {
  std::string root = "/";
  std::string nvml_library = "libnvidia-ml.so.1";
  std::string cuda_module = "";  // its path; empty where this build has none
  std::string folder = ".";      // where recordings would go
};

struct Diagnosis {
  std::vector<Check> checks;
  std::vector<CounterState> counters;  // in the order of kCounterTable
};
Diagnosis Diagnose(const DoctorOptions& options = {});

}  // namespace stallscope::system
