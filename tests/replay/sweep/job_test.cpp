#include "replay/sweep/job.h"

#include <doctest/doctest.h>

#include <map>

using stallscope::replay::Job;
using stallscope::replay::JobFromEnvironment;

namespace {

Job JobOf(const std::map<std::string, std::string>& environment) {
  return JobFromEnvironment([&](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("rank and size come from Open MPI, MPICH or Slurm") {
    const Job open_mpi = JobOf({{"OMPI_COMM_WORLD_RANK", "1"},
                                {"OMPI_COMM_WORLD_SIZE", "4"},
                                {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                                {"PMIX_NAMESPACE", "77@1"}});
    CHECK(open_mpi.rank == 1);
    CHECK(open_mpi.size == 4);
    CHECK(open_mpi.local_size == 2);
    CHECK(open_mpi.id == "77@1");
    CHECK(JobOf({{"PMI_RANK", "3"}, {"PMI_SIZE", "5"}}).rank == 3);
    const Job slurm = JobOf({{"SLURM_PROCID", "2"},
                             {"SLURM_STEP_NUM_TASKS", "3"},
                             {"SLURM_JOB_ID", "9"},
                             {"SLURM_STEP_ID", "0"}});
    CHECK(slurm.rank == 2);
    CHECK(slurm.id == "slurm-9.0");
  }

  TEST_CASE("a Slurm batch script, a single rank or nonsense is no job") {
    CHECK(JobOf({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}).size == 1);
    CHECK(JobOf({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}}).id.empty());
    CHECK(JobOf({{"OMPI_COMM_WORLD_RANK", "9"}, {"OMPI_COMM_WORLD_SIZE", "4"}}).size == 1);
    CHECK(JobOf({{"OMPI_COMM_WORLD_RANK", "x"}, {"OMPI_COMM_WORLD_SIZE", "4"}}).size == 1);
    CHECK(JobOf({}).size == 1);
  }
}
