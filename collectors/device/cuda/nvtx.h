// Ranges for Nsight Systems, which then shows our names above CUDA's. Active if STALLSCOPE_NVTX is
// set; without the toolkit's nvtx3 headers they do nothing. Inside the module.
#pragma once

#include <cstdlib>

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define STALLSCOPE_HAS_NVTX 1
#else
#define STALLSCOPE_HAS_NVTX 0
#endif

namespace stallscope::device::cuda {

inline bool NvtxWanted() {
  static const bool wanted = STALLSCOPE_HAS_NVTX != 0 && std::getenv("STALLSCOPE_NVTX") != nullptr;
  return wanted;
}

#if STALLSCOPE_HAS_NVTX
inline void BeginRange(const char* name) { nvtxRangePushA(name); }
inline void EndRange() { nvtxRangePop(); }
#else
constexpr void (*BeginRange)(const char*) = nullptr;
constexpr void (*EndRange)() = nullptr;
#endif

// From here to the end of the scope, on the calling thread.
class NvtxRange {
 public:
  explicit NvtxRange([[maybe_unused]] const char* name) : open_(NvtxWanted()) {
#if STALLSCOPE_HAS_NVTX
    if (open_) BeginRange(name);
#endif
  }
  ~NvtxRange() {
#if STALLSCOPE_HAS_NVTX
    if (open_) EndRange();
#endif
  }
  NvtxRange(const NvtxRange&) = delete;
  NvtxRange& operator=(const NvtxRange&) = delete;

 private:
  const bool open_;
};

}  // namespace stallscope::device::cuda
