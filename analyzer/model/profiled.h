// When a framework's profiler was open beside a recorded job.
//
// The shim marks both ends: with annotations on the trainer's thread while it starts the profiler
// and while it stops it. Steps that overlap this time count in no rate. Any thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "analyzer/model/run.h"

namespace stallscope::model {

constexpr std::string_view kProfilerStart = "stallscope: profiler start";
constexpr std::string_view kProfilerStop = "stallscope: profiler stop";
// Around a batch that the shim slowed down by timing its lines.
constexpr std::string_view kTimingOfLines = "stallscope: timing of lines";

// The profiler begins to start at `start_ns`, is open during `open`, and has stopped at `end_ns`.
// If it was never stopped, this lasts until the run's end, and `closed` is false.
struct ProfiledStretch {
  int64_t start_ns = 0;
  TimeRange open;
  int64_t end_ns = 0;
  bool closed = false;
};

// In order of time. Several ranks open their profilers at about the same step, and wait for each
// other: stretches that overlap are one, open while all of them are.
std::vector<ProfiledStretch> ProfiledStretches(const Run& run);
// A part of the step is beside one of them.
bool IsProfiled(const std::vector<ProfiledStretch>& stretches, const StepInterval& step);

}  // namespace stallscope::model
