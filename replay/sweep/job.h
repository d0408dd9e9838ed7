// This process's rank among those that share a sweep, from the environment that Open MPI, MPICH's
// launchers and Slurm set; MPI is not linked. Any thread.
#pragma once

#include <functional>
#include <string>

namespace stallscope::replay {

struct Job {
  int rank = 0;
  int size = 1;
  int local_size = 1;  // ranks on this host
  std::string id;      // the same in all ranks; empty for a single process
};

// `get` is std::getenv, or a test's substitute.
Job JobFromEnvironment(const std::function<const char*(const char*)>& get);
Job JobFromEnvironment();

}  // namespace stallscope::replay
