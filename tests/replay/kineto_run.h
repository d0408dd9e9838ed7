// A run as PyTorch's profiler writes one, made by hand: steps that fetch a batch and then compute,
// on the host or on a device. Times are exact.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include "analyzer/importers/chrome/chrome.h"
#include "tests/support/memory_file.h"

namespace stallscope::test {

struct KinetoOptions {
  int steps = 30;
  int fetch_us = 3000;
  int compute_us = 1000;
  bool fetches = true;        // false: the file shows no data loader
  bool in_processes = false;  // the loader has workers, in other processes
  bool on_device = false;     // compute is a kernel, launched in 100 us
};

inline std::string KinetoText(const KinetoOptions& options) {
  std::string events;
  const auto add = [&](const std::string& category, const std::string& name, int ts, int dur,
                       int thread, const std::string& arguments) {
    events += fmt::format(
        "{}{{\"ph\":\"X\",\"cat\":\"{}\",\"name\":\"{}\",\"pid\":{},\"tid\":{},\"ts\":{},"
        "\"dur\":{},\"args\":{{{}}}}}",
        events.empty() ? "" : ",\n", category, name, thread == 7 ? 0 : 5, thread, ts, dur,
        arguments);
  };
  const int fetch_us = options.fetches ? options.fetch_us : 0;
  for (int k = 0; k < options.steps; ++k) {
    const int start = 1000 + k * (fetch_us + options.compute_us);
    add("user_annotation", fmt::format("ProfilerStep#{}", k), start, fetch_us + options.compute_us,
        5, "");
    if (options.fetches) {
      add("user_annotation",
          fmt::format("enumerate(DataLoader)#_{}DataLoaderIter.__next__",
                      options.in_processes ? "MultiProcessing" : "SingleProcess"),
          start, fetch_us, 5, "");
    }
    if (!options.on_device) continue;
    const std::string correlation = fmt::format("\"correlation\":{}", k + 1);
    add("cuda_runtime", "cudaLaunchKernel", start + fetch_us, 50, 5, correlation);
    add("kernel", "sgemm", start + fetch_us + 100, options.compute_us - 100, 7,
        "\"device\":0,\"stream\":7," + correlation);
  }
  return "{\"schemaVersion\": 1, \"traceEvents\": [" + events + "]}";
}

inline model::Run KinetoRun(const KinetoOptions& options = {}) {
  const MemoryFile file(KinetoText(options));
  auto source = importers::ByteSource::Open(file.path());
  return importers::chrome::ReadTraceEvents(*source.value()).value();
}

}  // namespace stallscope::test
