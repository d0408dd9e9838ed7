// Samples the machine's and the process's counters into a recording, 20 times a second.
//
// One thread reads the kernel's files; a second one, only where NVIDIA's library is there, reads
// the devices, because that may block for 20 ms. Every counter that can be read has a value from
// Start() and one from Stop(), however short the recording; what cannot be read is absent, with a
// reason. Costs under 0.1% of a core with up to 64 threads in the process. Start, Stop and the
// destructor belong to one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/base/result.h"
#include "collectors/recorder/recorder.h"
#include "collectors/system/source.h"

namespace stallscope::system {

struct SamplerOptions {
  int64_t interval_ns = 50'000'000;
  double cpu_share = 0.001;  // of a core, for each thread; 0: unbounded
  std::string root = "/";
  bool own_process = true;  // also what this process uses; false: the machine alone
  std::string nvml_library = "libnvidia-ml.so.1";  // empty: no devices
};

class SystemSampler {
 public:
  // `recorder` must outlive the object or its Stop(). Fails where a thread cannot be started.
  static Result<std::unique_ptr<SystemSampler>> Start(recorder::Recorder& recorder,
                                                      const SamplerOptions& options = {});
  ~SystemSampler();  // stops
  SystemSampler(const SystemSampler&) = delete;
  SystemSampler& operator=(const SystemSampler&) = delete;

  // Reads everything once more and stops the threads. Call it before Recorder::Stop(). Only the
  // first call has an effect.
  void Stop();

  // Counters that had no value at Start(), and why.
  const std::vector<Absence>& absences() const { return absences_; }

 private:
  class Lane;
  SystemSampler();
  Status Add(recorder::Recorder& recorder, const char* name,
             std::vector<std::unique_ptr<Source>> sources, const SamplerOptions& options);

  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<Absence> absences_;
};

}  // namespace stallscope::system
