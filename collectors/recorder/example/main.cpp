// stallscope-example: a small training program of a user, recorded by stallscope.
//
// The recorder shows up in three places: here it is started and stopped, bounded_queue.h records
// waits, pushes and pops, and pipeline.cpp names the stages and records work, batches and steps.
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "analyzer/base/clock.h"
#include "collectors/recorder/recorder.h"
#include "options.h"
#include "pipeline.h"

namespace {

using stallscope::recorder::Recorder;

volatile std::sig_atomic_t interrupted = 0;

int Fail(int exit_code, const std::string& reason) {
  std::fprintf(stderr, "stallscope-example: %s\n", reason.c_str());
  return exit_code;
}

int Run(const example::Options& options) {
  std::unique_ptr<Recorder> recorder;
  if (options.record) {
    stallscope::trace::RunInfo run;
    run.name = "example";
    run.tool = "stallscope-example";
    run.device.kind = "host";
    auto started = Recorder::Start(options.output, std::move(run));
    if (!started.ok()) return Fail(5, started.error().Line());
    recorder = std::move(started).value();
  }

  // Ctrl-C ends the run early; the trace is sealed all the same.
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, [](int) { interrupted = 1; });
  const int64_t end = stallscope::MonotonicNs() + static_cast<int64_t>(options.seconds * 1e9);
  const example::Outcome outcome =
      example::RunPipeline(options, recorder.get(), [&, asked = uint64_t{0}]() mutable {
        return interrupted != 0 || stallscope::MonotonicNs() >= end ||
               (options.items != 0 && asked++ == options.items);
      });

  const double seconds = outcome.seconds > 0 ? outcome.seconds : 1;
  std::printf("%llu items in %.2f s: %.0f items/s, %.1f MB/s, %llu steps, loss %.3f\n",
              static_cast<unsigned long long>(outcome.blocks), outcome.seconds,
              static_cast<double>(outcome.blocks) / seconds,
              static_cast<double>(outcome.bytes) / seconds / 1e6,
              static_cast<unsigned long long>(outcome.steps), outcome.loss);
  if (recorder != nullptr) {
    const stallscope::recorder::Summary summary = recorder->Stop();
    std::printf("%s: %llu events stored, %llu dropped, %llu bytes\n", options.output.c_str(),
                static_cast<unsigned long long>(summary.stored),
                static_cast<unsigned long long>(summary.dropped),
                static_cast<unsigned long long>(summary.bytes));
    if (!summary.first_error.empty()) return Fail(5, summary.first_error);
  }
  return outcome.error.empty() ? 0 : Fail(3, outcome.error);
}

}  // namespace

int main(int argc, char** argv) {
  example::Options options;
  std::string error;
  if (!example::ParseOptions(argc, argv, options, error)) return Fail(2, error);
  if (options.help) {
    std::fputs(example::kUsage, stdout);
    return 0;
  }
  return Run(options);
}
