// Joins what a framework's profiler saw of a job, in a window of a few steps, into the job's run.
//
// The profile is brought onto the run's clock by marks: spans named "stallscope@N", which began
// when CLOCK_MONOTONIC was N. Without any, by both wall clocks, and a warning says so. What is
// joined: device streams with their kernels, copies and memsets; what threads did, as detail; and
// the pipeline, if the run shows no more of it than a stage of kind "tf.data", which stands for all
// of it until then. The run's own steps stay: those in the window learn when the device was done.
//
// A later window of the same process adds to the same stages and tracks. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "analyzer/base/result.h"
#include "analyzer/model/run.h"

namespace stallscope::model {

constexpr std::string_view kClockMark = "stallscope@";

// While the profiler was open, on the run's clock.
struct ProfileWindow {
  uint64_t pid = 0;
  int64_t from_ns = 0;
  int64_t to_ns = 0;
};

// What to add to the profile's times, by its marks: the largest of what they say, because a mark
// begins after the clock was read. Nothing without marks, or if they contradict each other by more
// than the window's length.
std::optional<int64_t> ShiftByMarks(const Run& profile, const ProfileWindow& window);

// kInput, and the run as it was, if the clocks cannot be brought together, or if the profile's
// times are not the window's.
Status JoinProfile(Run profile, const ProfileWindow& window, Run& run);

}  // namespace stallscope::model
