// Which part of a run is analyzed. Any thread.
#pragma once

#include <optional>
#include <vector>

#include "analyzer/attribution/attribution.h"
#include "analyzer/base/cancel.h"

namespace stallscope::attribution {

constexpr double kUnlikeTheMedian = 1.5;
constexpr double kMostWarmUp = 0.25;

// How many of the first steps are warm-up, by their durations: those at the beginning that differ
// from the median of all by more than a factor of 1.5, either way. Between long ones up to two may
// be like the median, if steps that long hardly come later. If that is more than a quarter of the
// run, it is a phase of the run and not warm-up, and at most the first step is left out. At least 3
// steps remain.
size_t WarmupSteps(const std::vector<int64_t>& durations_ns);

// The window without this many steps. Without any steps it is the whole run.
Window WindowAfter(size_t warmup_steps, const model::Run& run,
                   const std::vector<model::StepInterval>& intervals);
// The steps that begin in the range; if none does, the range itself.
Window WindowWithin(int64_t start_ns, int64_t end_ns, const model::Run& run,
                    const std::vector<model::StepInterval>& intervals);
// The steps that show a job's device, or a pipeline that only a framework's profiler sees: the last
// stretch of that profiler with at least 3 whole steps, and half as many as the longest.
std::optional<Window> ProfiledWindow(const model::Run& run,
                                     const std::vector<model::StepInterval>& intervals);
// The window, or the profiled steps that stand for its devices.
Window WindowOfDevices(const Window& window);
// All but the warm-up and a cold start (cold_start.h); if stages were slowed on purpose, the longer
// part before or after that. The steps behind a job's warm-up that are fed from what its loader
// made meanwhile belong to it. Of a job with profiled steps the longest part without any, if the
// trace shows its pipeline there; else the profiled steps.
Window ChooseWindow(const model::Run& run, const std::vector<model::StepInterval>& intervals,
                    Cancel cancel = {});
// The first pass over the data, without its warm-up. Without a second pass: the cold start, or else
// all steps.
Window FirstEpochWindow(const model::Run& run, const std::vector<model::StepInterval>& intervals,
                        Cancel cancel = {});

// The rows of the steps that rates are computed from: no framework's profiler was started, open or
// stopped during them, and no stage was slowed. Of the window, or where that has only profiled
// steps of the run, without its warm-up and cold start. Empty if no profiler ever ran, or if hardly
// any other step is left.
std::vector<size_t> UnprofiledRows(const model::Run& run,
                                   const std::vector<model::StepInterval>& intervals,
                                   const Window& window);

}  // namespace stallscope::attribution
