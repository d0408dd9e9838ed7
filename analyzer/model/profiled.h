// When a framework's profiler was open beside a recorded job.
//
// The shim marks it: annotations on the trainer's thread while it starts the profiler and while it
// stops it. Steps beside them count in no rate. Any thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "analyzer/model/run.h"

namespace stallscope::model {

constexpr std::string_view kProfilerStart = "stallscope: profiler start";
constexpr std::string_view kProfilerStop = "stallscope: profiler stop";

// Being started from `start_ns` on, open within `open`, stopped at `end_ns`. One that was never
// stopped lasts until the run's end, and `closed` is false.
struct ProfiledStretch {
  int64_t start_ns = 0;
  TimeRange open;
  int64_t end_ns = 0;
  bool closed = false;
};

// By time.
std::vector<ProfiledStretch> ProfiledStretches(const Run& run);
// A part of the step is beside one of them.
bool IsProfiled(const std::vector<ProfiledStretch>& stretches, const StepInterval& step);

}  // namespace stallscope::model
