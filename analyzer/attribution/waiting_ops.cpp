#include "analyzer/attribution/waiting_ops.h"

#include <algorithm>
#include <array>

namespace stallscope::attribution {
namespace {

template <class Time>
double PartIn(const StageUse& use, Time&& time) {
  if (use.sampled_ns <= 0) return 0;
  double sum = 0;
  for (const OpUse& op : use.ops) sum += static_cast<double>(time(op));
  return sum / static_cast<double>(use.sampled_ns);
}

}  // namespace

bool TakesFileLock(std::string_view op) {
  constexpr std::array kTakeOne = {"fcntl.flock", "fcntl.lockf", "FileLock.acquire"};
  return std::any_of(kTakeOne.begin(), kTakeOne.end(),
                     [&](const char* name) { return op.ends_with(name); });
}

double InFileLocks(const StageUse& use) {
  return PartIn(use,
                [](const OpUse& op) { return TakesFileLock(op.name) ? op.ns - op.cpu_ns : 0; });
}

bool IsLeftToPools(const std::vector<StageUse>& stages, const std::vector<StageId>& work) {
  double all = 0;
  double in_pools = 0;
  for (const StageUse& use : stages) {
    if (std::find(work.begin(), work.end(), use.stage) == work.end()) continue;
    const auto busy = static_cast<double>(use.busy_ns);
    all += busy;
    in_pools += busy * PartIn(use, [](const OpUse& op) {
                  return op.name.starts_with(kWaitsForPool) ? op.ns : 0;
                });
  }
  return in_pools > all / 2;
}

}  // namespace stallscope::attribution
