#include "replay/sweep/job.h"

#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace stallscope::replay {
namespace {

using Get = std::function<const char*(const char*)>;

std::optional<int> Number(const Get& get, const char* name) {
  const char* const text = get(name);
  if (text == nullptr) return std::nullopt;
  int value = 0;
  const char* const end = text + std::strlen(text);
  const auto read = std::from_chars(text, end, value);
  if (read.ec != std::errc() || read.ptr != end || value < 0) return std::nullopt;
  return value;
}

std::string Text(const Get& get, const char* name) {
  const char* const text = get(name);
  return text == nullptr ? "" : text;
}

struct Starter {
  const char* rank;
  const char* size;
  const char* local_size;
};

// mpirun inside a Slurm job sets both; its own counts. Slurm's are those of a step: a batch script
// has a rank of 0 in them too, but no step.
constexpr std::array kStarters = {
    Starter{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    Starter{"PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"},
    Starter{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_TASKS_PER_NODE"},
};

std::string IdOf(const Get& get) {
  for (const char* name : {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PMI_JOBID"}) {
    if (std::string id = Text(get, name); !id.empty()) return id;
  }
  const std::string job = Text(get, "SLURM_JOB_ID");
  return job.empty() ? "job" : "slurm-" + job + "." + Text(get, "SLURM_STEP_ID");
}

}  // namespace

Job JobFromEnvironment(const Get& get) {
  for (const Starter& starter : kStarters) {
    const auto rank = Number(get, starter.rank);
    const auto size = Number(get, starter.size);
    if (!rank || !size || *size < 2 || *rank >= *size) continue;
    return {*rank, *size, std::max(Number(get, starter.local_size).value_or(1), 1), IdOf(get)};
  }
  return {};
}

Job JobFromEnvironment() {
  return JobFromEnvironment([](const char* name) { return std::getenv(name); });
}

}  // namespace stallscope::replay
