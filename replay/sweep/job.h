// Which of several processes that share a sweep this one is. Open MPI, MPICH's starters and Slurm
// tell it in the environment; nothing of MPI is linked. Any thread.
#ifndef STALLSCOPE_REPLAY_SWEEP_JOB_H_
#define STALLSCOPE_REPLAY_SWEEP_JOB_H_

#include <functional>
#include <string>

namespace stallscope::replay {

struct Job {
  int rank = 0;
  int size = 1;
  int local_size = 1;  // ranks on this host
  std::string id;      // the same in all ranks; empty for a process of its own
};

// `get` is std::getenv, or a test's.
Job JobFromEnvironment(const std::function<const char*(const char*)>& get);
Job JobFromEnvironment();

}  // namespace stallscope::replay

#endif  // STALLSCOPE_REPLAY_SWEEP_JOB_H_
