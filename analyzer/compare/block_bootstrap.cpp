#include "analyzer/compare/block_bootstrap.h"

#include <algorithm>
#include <cmath>

#include "analyzer/compare/run_interval.h"

namespace stallscope::compare {
namespace {

// Further back nothing is looked for: it bounds the time that very long runs take.
constexpr size_t kMostLags = 1000;

// 1 + 2 * the autocorrelations up to a lag of five times the outcome (Sokal's window): further ones
// are noise.
double CorrelationTime(std::span<const double> series) {
  const double mean = Mean(series);
  const double variance = SquaresAround(series);
  double time = 1;
  const size_t end = std::min(series.size() / 4, kMostLags);
  for (size_t lag = 1; lag < end; ++lag) {
    double product = 0;
    for (size_t i = lag; i < series.size(); ++i) {
      product += (series[i] - mean) * (series[i - lag] - mean);
    }
    if (variance > 0) time += 2 * product / variance;
    if (static_cast<double>(lag) >= 5 * std::max(time, 1.0)) break;
  }
  return std::max(time, 1.0);
}

}  // namespace

size_t BlockLength(std::span<const double> series) {
  const double size = static_cast<double>(series.size());
  const double wanted = std::max(4 * CorrelationTime(series), std::cbrt(size));
  return static_cast<size_t>(std::max(1.0, std::floor(std::min(std::ceil(wanted), size / 5))));
}

RingSums::RingSums(std::span<const double> series) {
  sums_.reserve(2 * series.size() + 1);
  sums_.push_back(0);
  for (int round = 0; round < 2; ++round) {
    for (double v : series) sums_.push_back(sums_.back() + v);
  }
}

void DrawBlocks(size_t size, size_t length, SplitMix64& generator, std::vector<Block>& blocks) {
  blocks.clear();
  for (size_t left = size; left > 0; left -= blocks.back().length) {
    blocks.push_back({generator.Below(size), std::min(length, left)});
  }
}

}  // namespace stallscope::compare
