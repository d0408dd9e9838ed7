// Joins the data of a framework's profiler, from a window of a few steps, into a job's run.
//
// Marks bring the profile onto the run's clock: spans named "stallscope@N" that began when
// CLOCK_MONOTONIC was N. Without marks, both wall clocks do, with a warning. Joined are device
// streams with their kernels, copies and memsets; the threads' activity, as detail; and the
// pipeline, if the run has only a stage of kind "tf.data" that represents all of it. The run's own
// steps stay; those in the window get the time at which the device was done.
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

// The time during which the profiler was open, on the run's clock.
struct ProfileWindow {
  uint64_t pid = 0;
  int64_t from_ns = 0;
  int64_t to_ns = 0;
};

// The offset to add to the profile's times, from its marks: the largest, because a mark begins
// after the clock was read. Nothing without marks, or if they differ by more than the window's
// length.
std::optional<int64_t> ShiftByMarks(const Run& profile, const ProfileWindow& window);

// kInput, with the run unchanged, if the clocks cannot be matched, or if the profile's times are
// outside of the window.
Status JoinProfile(Run profile, const ProfileWindow& window, Run& run);

}  // namespace stallscope::model
