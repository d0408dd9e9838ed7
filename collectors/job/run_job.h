// Records a program of the user's own, with whatever processes it starts, into one trace.
//
// The program runs as it would without us (launch.h); its processes write rings and names into the
// session's folder (session.h), and what they do not write is seen from outside (job_sampler.h).
// Whatever ends the program, its trace is sealed with everything that was published. Processes that
// outlive it are not waited for.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analyzer/base/file.h"
#include "analyzer/base/result.h"
#include "collectors/job/job_settings.h"
#include "collectors/job/session.h"
#include "collectors/recorder/recorder.h"

namespace stallscope::job {

// A file of a framework's profiler, which the caller joins into the trace: this room may not link
// the importers.
struct ProfileFile {
  std::string path;  // a regular file
  uint64_t pid = 0;
  int64_t from_ns = 0;  // while the profiler was open
  int64_t to_ns = 0;
};

struct JobOptions {
  std::vector<std::string> command;
  std::string output;
  AskedSettings settings;
  bool bound = false;                     // the program does not outlive this process
  std::string tool;                       // "stallscope 0.1.0"
  std::vector<std::string> command_line;  // for the trace
  // Called several times per second with the program's process; may be empty.
  std::function<void(const recorder::StepCount&, pid_t)> on_progress;
  // Called once the trace is sealed, if there are any files; they are removed when it returns. May
  // be empty.
  std::function<void(const std::vector<ProfileFile>&)> on_profiles;
  SessionOptions session;
  FileOps* ops = &FileOps::Kernel();
};

struct JobResult {
  int exit_code = 0;         // as a shell would report it
  bool interrupted = false;  // it died of the SIGINT that this process has had, too
  std::string digest;        // of the main loader's batches; empty unless asked for
  recorder::StepCount steps;
  recorder::Summary trace;
};

// kUsage: bad settings. kRun: the program could not be started, or the trace not be written; an
// earlier trace of that name is then untouched. One thread, before which no other may run.
Result<JobResult> RunJob(const JobOptions& options);

}  // namespace stallscope::job
