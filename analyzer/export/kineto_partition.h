// A step's time, partitioned as on Kineto's own overview page: Kernel > Memcpy > Memset >
// Communication > Runtime > DataLoader > CPU > Other; each instant goes to the first one active on
// any thread or stream. For comparing a trace with its authors' published figures; reports use
// attribution's breakdown. Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/model/run.h"

namespace stallscope::exporting {

enum class KinetoRole : uint8_t {
  kKernel,
  kMemcpy,
  kMemset,
  kCommunication,
  kRuntime,
  kDataLoader,
  kCpu,
  kOther
};
constexpr size_t kKinetoRoles = 8;

struct KinetoStep {
  uint64_t step = 0;  // N of ProfilerStep#N; without such marks the run's own numbers
  // From its own start, or the end of the window before where that is later, to its own end, or
  // the end of the last device work that it launched.
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  std::array<int64_t, kKinetoRoles> ns{};  // adds up to end - start
};

std::vector<KinetoStep> PartitionAsKineto(const model::Run& run);

}  // namespace stallscope::exporting
