// The collector over a given CUPTI (the machine's, or a test's), and CUPTI's calls, which are
// looked up when a recording starts. Inside the module.
#pragma once

#include <cupti.h>

#include <memory>
#include <string>

#include "analyzer/base/result.h"
#include "collectors/device/cuda/activity_collector.h"

namespace stallscope::device::cuda {

struct CuptiLibrary {
  // Once per process; the error says which file is missing. Never unloaded: it has threads.
  static Result<const CuptiLibrary*> Find();

  std::string name;
  uint32_t api = 0;
  decltype(&cuptiGetVersion) version = nullptr;
  decltype(&cuptiGetResultString) words = nullptr;
  decltype(&cuptiGetTimestamp) now = nullptr;
  decltype(&cuptiGetCallbackName) call_name = nullptr;
  decltype(&cuptiSetThreadIdType) set_thread_ids = nullptr;
  decltype(&cuptiActivityRegisterCallbacks) set_callbacks = nullptr;
  decltype(&cuptiActivityEnable) enable = nullptr;
  decltype(&cuptiActivityDisable) disable = nullptr;
  decltype(&cuptiActivityFlushAll) flush = nullptr;
  decltype(&cuptiActivityGetNextRecord) next_record = nullptr;
  decltype(&cuptiActivityGetNumDroppedRecords) dropped = nullptr;
  decltype(&cuptiActivityPushExternalCorrelationId) push = nullptr;
  decltype(&cuptiActivityPopExternalCorrelationId) pop = nullptr;

  std::string Words(CUptiResult code) const;
};

// kRun if CUPTI refuses. `cupti` must outlive it; one at a time.
Result<std::shared_ptr<ActivityCollector>> StartCollector(
    const CuptiLibrary& cupti, const std::shared_ptr<DeviceTracks>& tracks, double ticks_per_ns);

}  // namespace stallscope::device::cuda
