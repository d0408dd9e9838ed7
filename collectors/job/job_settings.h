// What `stallscope run --set` changes in a job, and what is passed to the shim. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/base/result.h"

namespace stallscope::job {

struct AskedSettings {
  std::vector<std::string> set;  // KNOB=VALUE
  // LOADER=FILE:LINE, where the loader of a setting is constructed. Without one it is known by the
  // order in which the job constructs its loaders. KNOB=FILE:LINE, a call that takes the setting,
  // of those in that file; without one, each call there does.
  std::vector<std::string> at;
  uint64_t steps = 0;  // ends the job after this many; 0: never
  // auto: ops inside stages, and windows of the framework's profiler if the job uses a device or a
  // pipeline that nothing else shows. all: windows for jobs on the CPU, too. off: neither.
  std::string profile = "auto";
  bool digest = false;
  bool probe = false;  // slow one stage at a time in short windows
};

struct JobSettings {
  std::string json;  // settings.json of the session (RING.md)
  std::vector<std::pair<std::string, std::string>> environment;
};

// kUsage for a knob that does not exist or a value that it cannot have.
Result<JobSettings> ReadSettings(const AskedSettings& asked);

// The job's environment: `inherited` ("NAME=VALUE") with the session's folder, the shim in front of
// PYTHONPATH, and what the settings change.
std::vector<std::string> EnvironmentOf(char* const* inherited, const std::string& session,
                                       const std::string& shim, const JobSettings& settings);

}  // namespace stallscope::job
