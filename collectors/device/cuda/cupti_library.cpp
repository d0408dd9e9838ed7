#include "collectors/device/cuda/cupti_library.h"

#include <cuda.h>
#include <fmt/format.h>

#include "collectors/device/cuda/library_places.h"
#include "collectors/device/shared_library.h"

namespace stallscope::device::cuda {
namespace {

Result<CuptiLibrary> LoadCupti() {
  const std::string file = fmt::format("libcupti.so.{}", CUDA_VERSION / 1000);
  auto opened = SharedLibrary::Open(LibraryPlaces(file));
  const std::string hint = "install the CUDA toolkit's CUPTI, or name the toolkit in CUDA_HOME";
  if (!opened.ok()) {
    return Error{ErrorKind::kRun, "no CUPTI: " + opened.error().what, "cuda", hint};
  }
  const SharedLibrary& library = opened.value();
  CuptiLibrary cupti;
  cupti.name = library.name();
  const bool whole = library.Bind(cupti.version, "cuptiGetVersion") &&
                     library.Bind(cupti.words, "cuptiGetResultString") &&
                     library.Bind(cupti.now, "cuptiGetTimestamp") &&
                     library.Bind(cupti.call_name, "cuptiGetCallbackName") &&
                     library.Bind(cupti.set_thread_ids, "cuptiSetThreadIdType") &&
                     library.Bind(cupti.set_callbacks, "cuptiActivityRegisterCallbacks") &&
                     library.Bind(cupti.enable, "cuptiActivityEnable") &&
                     library.Bind(cupti.disable, "cuptiActivityDisable") &&
                     library.Bind(cupti.flush, "cuptiActivityFlushAll") &&
                     library.Bind(cupti.next_record, "cuptiActivityGetNextRecord") &&
                     library.Bind(cupti.dropped, "cuptiActivityGetNumDroppedRecords") &&
                     library.Bind(cupti.push, "cuptiActivityPushExternalCorrelationId") &&
                     library.Bind(cupti.pop, "cuptiActivityPopExternalCorrelationId");
  if (!whole) {
    return Error{ErrorKind::kRun, "this is not CUPTI: cuptiActivityEnable or its like is missing",
                 library.name(), hint};
  }
  const CUptiResult asked = cupti.version(&cupti.api);
  // Records only ever grow at their ends: a newer library's are read as the older ones they begin
  // with.
  if (asked != CUPTI_SUCCESS || cupti.api < CUPTI_API_VERSION) {
    return Error{ErrorKind::kRun,
                 fmt::format("CUPTI {} is older than the {} that this build knows", cupti.api,
                             CUPTI_API_VERSION),
                 library.name(), hint};
  }
  return cupti;
}

}  // namespace

Result<const CuptiLibrary*> CuptiLibrary::Find() {
  static const Result<CuptiLibrary> library = LoadCupti();
  if (!library.ok()) return library.error();
  return &library.value();
}

std::string CuptiLibrary::Words(CUptiResult code) const {
  const char* text = nullptr;
  if (words(code, &text) != CUPTI_SUCCESS || text == nullptr) {
    return fmt::format("code {}", static_cast<int>(code));
  }
  return text;
}

}  // namespace stallscope::device::cuda
