#include "analyzer/attribution/summary.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analyzer/base/units.h"

namespace stallscope::attribution {
namespace {

constexpr size_t kBlocks = 20;

}  // namespace

stallscope::Interval RatioInterval(const std::vector<double>& over, const std::vector<double>& of) {
  const double all_over = std::accumulate(over.begin(), over.end(), 0.0);
  const double all_of = std::accumulate(of.begin(), of.end(), 0.0);
  if (all_of <= 0) return {};
  const double ratio = all_over / all_of;
  const size_t blocks = std::min(kBlocks, over.size());
  std::vector<double> pseudo;
  for (size_t b = 0; b < blocks; ++b) {
    double rest_over = all_over;
    double rest_of = all_of;
    for (size_t i = over.size() * b / blocks; i < over.size() * (b + 1) / blocks; ++i) {
      rest_over -= over[i];
      rest_of -= of[i];
    }
    if (rest_of <= 0) return {ratio, ratio, ratio};
    const auto n = static_cast<double>(blocks);
    pseudo.push_back(n * ratio - (n - 1) * rest_over / rest_of);
  }
  const stallscope::Interval interval = MeanInterval(pseudo);
  const double half = (interval.high - interval.low) / 2;
  return {ratio, ratio - half, ratio + half};
}

PerCategory<std::optional<CategoryTotal>> Breakdown(const Partition& partition,
                                                    const Window& window) {
  PerCategory<std::optional<CategoryTotal>> breakdown;
  std::vector<double> lengths;
  for (const StepShare& step : partition.steps) {
    lengths.push_back(static_cast<double>(step.end_ns - step.start_ns));
  }
  for (size_t c = 0; c < kCategories; ++c) {
    if (!partition.known[c]) continue;
    CategoryTotal total;
    total.ns = partition.ns[c];
    total.fraction =
        window.ns() > 0 ? static_cast<double>(total.ns) / static_cast<double>(window.ns()) : 0;
    std::vector<double> mine;
    for (const StepShare& step : partition.steps) mine.push_back(static_cast<double>(step.ns[c]));
    const stallscope::Interval interval = RatioInterval(mine, lengths);
    const double half = (interval.high - interval.low) / 2;
    total.bounded = window.steps >= kFewestForInterval;
    total.low = total.bounded ? std::max(0.0, total.fraction - half) : total.fraction;
    total.high = total.bounded ? std::min(1.0, total.fraction + half) : total.fraction;
    breakdown[c] = total;
  }
  return breakdown;
}

void WidenAsProfiled(const Partition& seen, PerCategory<std::optional<CategoryTotal>>& breakdown) {
  std::vector<double> lengths;
  for (const StepShare& step : seen.steps) {
    lengths.push_back(static_cast<double>(step.end_ns - step.start_ns));
  }
  double squares = 0;
  const auto widen = [](double by, CategoryTotal& total) {
    total.low = std::max(0.0, total.fraction - std::hypot(by, total.fraction - total.low));
    total.high = std::min(1.0, total.fraction + std::hypot(by, total.high - total.fraction));
  };
  for (const Category category : kDeviceWork) {
    auto& total = breakdown[At(category)];
    if (!total.has_value()) continue;
    std::vector<double> ns;
    for (const StepShare& step : seen.steps)
      ns.push_back(static_cast<double>(step.ns[At(category)]));
    const stallscope::Interval mean = RatioInterval(ns, lengths);
    if (mean.mean <= 0) continue;
    const double by = total->fraction * (mean.high - mean.low) / 2 / mean.mean;
    squares += by * by;
    widen(by, *total);
  }
  // What the devices do less, the host does more.
  auto& launch = breakdown[At(Category::kLaunch)];
  if (launch.has_value()) widen(std::sqrt(squares), *launch);
}

std::optional<Throughput> ThroughputOf(const std::vector<StepShare>& steps, size_t count,
                                       int64_t ns) {
  std::vector<double> samples;
  std::vector<double> seconds;
  double all = 0;
  for (const StepShare& step : steps) {
    samples.push_back(step.samples);
    seconds.push_back(static_cast<double>(step.end_ns - step.start_ns) / kNsPerSecond);
    all += step.samples;
  }
  if (count == 0 || ns <= 0 || all <= 0) return std::nullopt;
  const stallscope::Interval interval = RatioInterval(samples, seconds);
  const double rate = all / (static_cast<double>(ns) / kNsPerSecond);
  if (count < kFewestForInterval) return Throughput{rate, rate, rate, false};
  const double half = interval.mean > 0 ? (interval.high - interval.low) / 2 / interval.mean : 0;
  return Throughput{rate, std::max(0.0, rate * (1 - half)), rate * (1 + half)};
}

std::optional<Quantiles> StepTimes(const std::vector<StepShare>& steps) {
  std::vector<double> ns;
  for (const StepShare& step : steps) {
    ns.push_back(static_cast<double>(step.end_ns - step.start_ns));
  }
  if (ns.empty()) return std::nullopt;
  std::sort(ns.begin(), ns.end());
  Quantiles times;
  times.mean = std::accumulate(ns.begin(), ns.end(), 0.0) / static_cast<double>(ns.size());
  times.p50 = Quantile(ns, 0.5);
  times.p95 = Quantile(ns, 0.95);
  times.p99 = Quantile(ns, 0.99);
  double squares = 0;
  for (const double value : ns) squares += (value - times.mean) * (value - times.mean);
  if (times.mean > 0) {
    times.variation = std::sqrt(squares / static_cast<double>(ns.size())) / times.mean;
  }
  return times;
}

std::optional<Throughput> StepRate(const Attribution& attribution) {
  if (attribution.window.steps == 0 || !attribution.step_ns || attribution.step_ns->mean <= 0) {
    return std::nullopt;
  }
  const double rate = kNsPerSecond / attribution.step_ns->mean;
  if (attribution.rate_steps < kFewestForInterval) return Throughput{rate, rate, rate, false};
  const double half = 1.96 * attribution.step_ns->variation /
                      std::sqrt(static_cast<double>(attribution.rate_steps));
  return Throughput{rate, rate * std::max(0.0, 1 - half), rate * (1 + half)};
}

double ShareFromDisk(const CpuUse& use) {
  const double read = use.read_bytes_per_s.value_or(0);
  return read > 0 ? std::clamp(use.disk_bytes_per_s.value_or(0) / read, 0.0, 1.0) : 0;
}

}  // namespace stallscope::attribution
