#include "gui/viewmodel/axis.h"

#include <cmath>

#include "analyzer/base/units.h"
#include "analyzer/words/words.h"

namespace stallscope::viewmodel {
namespace {

// 1, 2 or 5 times a power of ten.
int64_t NiceStep(double least_ns) {
  constexpr int64_t kMost = kNsPerSecond * 1'000'000'000;  // ten times that is no time
  int64_t power = 1;
  while (static_cast<double>(power) * 10 <= least_ns && power < kMost) {
    power *= 10;
  }
  for (const int64_t factor : {1, 2, 5}) {
    if (static_cast<double>(power * factor) >= least_ns) return power * factor;
  }
  return power < kMost ? power * 10 : power * 5;
}

}  // namespace

std::vector<Tick> TimeTicks(const session::Range& range, int64_t origin_ns, float width,
                            float least) {
  std::vector<Tick> ticks;
  if (width <= 0 || range.ns() <= 0) return ticks;
  const double wide = static_cast<double>(width);
  const auto ns = static_cast<double>(range.ns());
  const int64_t step = NiceStep(ns / wide * static_cast<double>(least));
  const int64_t offset = range.start_ns - origin_ns;
  int64_t at = offset / step * step;
  if (at < offset) at += step;
  const int64_t end = range.end_ns - origin_ns;
  while (at <= end) {
    const double x = static_cast<double>(at - offset) / ns * wide;
    ticks.push_back({static_cast<float>(x), words::TimeAt(origin_ns + at, origin_ns, step)});
    if (at > end - step) break;  // a damaged trace may end where the next tick would be no time
    at += step;
  }
  return ticks;
}

double NiceEnd(double value) {
  if (!(value > 0)) return 1;
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double factor : {1.0, 2.0, 4.0, 6.0, 8.0}) {
    if (power * factor >= value) return power * factor;
  }
  return power * 10;
}

}  // namespace stallscope::viewmodel
