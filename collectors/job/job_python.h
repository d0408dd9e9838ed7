// The Python that runs a job from this shell: which one it is, which frameworks it has, and whether
// jobs with these versions were recorded in tests. Any thread.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "collectors/system/doctor.h"

namespace stallscope::job {

// The oldest and the newest version that tests ran with, as in "2.15". Others are recorded as far
// as the shim knows their code.
struct TestedVersions {
  std::string_view name;  // "Python", or a framework's
  std::string_view oldest;
  std::string_view newest;
};
extern const std::array<TestedVersions, 4> kTestedVersions;

struct PythonPlace {
  std::string search_path;          // $PATH
  std::string virtual_environment;  // $VIRTUAL_ENV; empty: none is active
  int time_limit_ms = 3000;         // for the answer of a Python on a slow disk
};

// One check for `doctor`: reads the versions from what is installed, and imports no framework,
// which would take seconds. Starts the first `python` of the path, or `python3` if there is none,
// as a job's command does.
system::Check CheckPython(const PythonPlace& place);

}  // namespace stallscope::job
