// One recording: a spec in, a trace out.
//
// Starts the recorder, the samplers, the devices, the pipeline and the trainer, runs to the spec's
// last step, the end of the data or a stop, and seals the trace. A failure is the result, and is in
// the trace too. A run that fails or is stopped before its first batch does not replace an earlier
// trace; one that cannot start leaves no file.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "analyzer/base/result.h"
#include "analyzer/spec/spec.h"
#include "analyzer/trace/events.h"
#include "collectors/pipeline/pipeline.h"
#include "collectors/recorder/recorder.h"
#include "collectors/trainer/trainer.h"

namespace stallscope::capture {

struct CaptureOptions {
  std::string output;  // the trace; empty: nothing is recorded
  bool digest = false;
  bool probe = false;  // slow one stage at a time in the second half (probe.h)
  std::string stores;  // a folder for what caches and snapshots write; empty: where the spec says
  std::string tool;    // "stallscope 0.1.0"
  std::vector<std::string> command_line;                      // for the trace
  std::function<void(const trainer::Progress&)> on_progress;  // after each step; may be empty
  // Asked 20 times a second by another thread; true ends the run cleanly. May be empty.
  std::function<bool()> stop_requested;
};

struct CaptureResult {
  trainer::TrainResult training;
  pipeline::PipelineStats pipeline;
  recorder::Summary trace;
  trace::DeviceInfo device;
  std::string digest;  // empty unless requested
  // Stopped before the first batch: the output is still the earlier trace.
  bool kept_earlier = false;
};

Result<CaptureResult> Capture(const Spec& spec, const CaptureOptions& options);

}  // namespace stallscope::capture
