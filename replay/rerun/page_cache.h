// Whether a run finds its data in memory. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/base/result.h"

namespace stallscope::replay {

// kWarm: the files are read before the run. kCold: the kernel is asked to evict them; what is
// beneath it (a virtual machine's host, a disk's own cache) may still have them.
// `throttle_bytes_per_s` reliably makes a disk slow.
enum class PageCache : uint8_t { kAsItIs, kWarm, kCold };

Status PreparePageCache(const std::vector<std::string>& files, PageCache want);

}  // namespace stallscope::replay
