// CUPTI's calls, looked for when a recording starts. Inside the module; any thread.
#ifndef STALLSCOPE_COLLECTORS_DEVICE_CUDA_CUPTI_LIBRARY_H_
#define STALLSCOPE_COLLECTORS_DEVICE_CUDA_CUPTI_LIBRARY_H_

#include <cupti.h>

#include <string>

#include "analyzer/base/result.h"

namespace stallscope::device::cuda {

struct CuptiLibrary {
  // Once a process; the error says which file is missing. Never unloaded: it has threads.
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

}  // namespace stallscope::device::cuda

#endif  // STALLSCOPE_COLLECTORS_DEVICE_CUDA_CUPTI_LIBRARY_H_
