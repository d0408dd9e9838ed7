// What is special about a job: its settings (LoaderSpec, JobSpec, env) and the command that they
// are for. Pure.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace stallscope {

// The variables that the math libraries of a process take their number of threads from:
// `job.threads` sets all of them.
inline constexpr std::array<std::string_view, 5> kThreadVariables = {
    "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS"};
// "OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 ...", as a shell exports them.
std::string ThreadSettings(std::string_view threads);

// Settings that a DataLoader does not have by itself: a loader has those that `LoaderSpec::knobs`
// lists.
inline constexpr std::array<std::string_view, 4> kOtherLoaderKnobs = {
    "num_parallel_calls", "prefetch", "threads", "num_shards"};
bool IsOtherLoaderKnob(std::string_view field);

// What stands in a recorded command where a secret was.
inline constexpr std::string_view kMasked = "***";

// Whether the value stands for what the program itself decides on: nobody can set that.
bool IsProgramsChoice(std::string_view path, std::string_view value);

}  // namespace stallscope
