#include "analyzer/compare/step_interval.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "analyzer/base/math.h"
#include "analyzer/compare/block_bootstrap.h"

namespace stallscope::compare {
namespace {

constexpr size_t kResamples = 1000;
constexpr double kNormal95 = 1.959964;
// No host repeats a run better than this; what steps cannot show, such as where memory was
// allocated, differs between runs.
constexpr double kLeastDeviation = 0.004;
// What the parts of a run say about the next run weighs as much as eight more runs would.
constexpr size_t kPartsFreedom = 8;
constexpr size_t kParts = 4;
// Where a resample has nearly no time or samples its logarithm stops here.
constexpr double kSmallestRatio = 1e-3;

constexpr std::array<double, kStatistics> kQuantileOf = {0, 0, 0.5, 0.95, 0.99};

using Deviations = std::array<double, kStatistics>;

double Sum(std::span<const double> values) {
  double sum = 0;
  for (double v : values) sum += v;
  return sum;
}

double LogRatio(double value, double reference) {
  return reference > 0 ? std::log(std::max(value / reference, kSmallestRatio)) : 0;
}

// What each step adds to the logarithm of the run's rate, in first order.
std::vector<double> RateInfluence(const StepSeries& run) {
  const double ms = Mean(run.ms);
  const double samples = Mean(run.samples);
  std::vector<double> influence(run.ms.size());
  for (size_t i = 0; i < run.ms.size(); ++i) {
    influence[i] = (samples > 0 ? run.samples[i] / samples : 1) - (ms > 0 ? run.ms[i] / ms : 1);
  }
  return influence;
}

// One run's steps, ready to be resampled. A quantile of a resample is read from the run's own
// distribution, moved by the share of the resample's steps that lie below the run's quantile:
// cheaper than sorting each resample, and the same to first order.
class RunResampler {
 public:
  explicit RunResampler(const StepSeries& run)
      : block_(BlockLength(RateInfluence(run))), ms_(run.ms), samples_(run.samples) {
    sorted_ = run.ms;
    std::sort(sorted_.begin(), sorted_.end());
    for (size_t s = FirstQuantile(); s < kStatistics; ++s) {
      quantiles_[s] = Quantile(sorted_, kQuantileOf[s]);
      std::vector<double> below(run.ms.size());
      for (size_t i = 0; i < run.ms.size(); ++i) below[i] = run.ms[i] <= quantiles_[s] ? 1 : 0;
      below_.emplace_back(below);
    }
  }

  double blocks() const {
    return std::floor(static_cast<double>(sorted_.size()) / static_cast<double>(block_));
  }

  // Logarithms of a resample's statistics, less those of the run.
  Deviations Draw(SplitMix64& generator) {
    DrawBlocks(sorted_.size(), block_, generator, blocks_);
    Deviations deviations{};
    const double ms = LogRatio(SumOver(ms_), ms_.total());
    deviations[static_cast<size_t>(Statistic::kRate)] =
        LogRatio(SumOver(samples_), samples_.total()) - ms;
    deviations[static_cast<size_t>(Statistic::kMean)] = ms;
    for (size_t s = FirstQuantile(); s < kStatistics; ++s) {
      const RingSums& below = below_[s - FirstQuantile()];
      const double more = (SumOver(below) - below.total()) / static_cast<double>(sorted_.size());
      deviations[s] = LogRatio(Quantile(sorted_, kQuantileOf[s] - more), quantiles_[s]);
    }
    return deviations;
  }

 private:
  static constexpr size_t FirstQuantile() { return static_cast<size_t>(Statistic::kP50); }
  double SumOver(const RingSums& sums) const {
    double sum = 0;
    for (const Block& block : blocks_) sum += sums.Sum(block.start, block.length);
    return sum;
  }

  size_t block_;
  RingSums ms_;
  RingSums samples_;
  std::vector<RingSums> below_;
  std::vector<double> sorted_;
  std::array<double, kStatistics> quantiles_{};
  std::vector<Block> blocks_;
};

struct SideDraws {
  std::vector<Deviations> draws;  // means over the side's runs
  double blocks = 0;
};

SideDraws DrawSide(const std::vector<StepSeries>& runs, uint64_t seed) {
  SideDraws side;
  side.draws.resize(kResamples);
  SplitMix64 generator(seed);
  for (const StepSeries& run : runs) {
    RunResampler resampler(run);
    side.blocks += resampler.blocks();
    for (Deviations& sum : side.draws) {
      const Deviations one = resampler.Draw(generator);
      for (size_t s = 0; s < kStatistics; ++s) sum[s] += one[s] / static_cast<double>(runs.size());
    }
  }
  return side;
}

// A bootstrap of few blocks draws too narrow: as much as the normal quantile is below Student's,
// and as the plain variance is below the unbiased one.
double FewBlocksFactor(double blocks) {
  if (blocks < 2) return StudentT95(1);
  return StudentT95(static_cast<size_t>(blocks) - 1) / kNormal95 * std::sqrt(blocks / (blocks - 1));
}

double LogRate(std::span<const double> ms, std::span<const double> samples) {
  const double time = Sum(ms);
  const double count = Sum(samples);
  return time > 0 && count > 0 ? std::log(count / time) : 0;
}

// Squared distances of the quarters' rates from their mean, and how many are free.
void AddQuarters(const StepSeries& run, double& squares, size_t& freedom) {
  const size_t steps = run.ms.size();
  if (steps < 2 * kParts) return;
  std::array<double, kParts> rates{};
  for (size_t i = 0; i < kParts; ++i) {
    const size_t begin = steps * i / kParts;
    const size_t count = steps * (i + 1) / kParts - begin;
    rates[i] = LogRate(std::span(run.ms).subspan(begin, count),
                       std::span(run.samples).subspan(begin, count));
  }
  squares += SquaresAround(rates);
  freedom += kParts - 1;
}

}  // namespace

double ValueOf(const StepSeries& run, Statistic statistic) {
  const double ms = Sum(run.ms);
  if (run.ms.empty() || ms <= 0) return 0;
  if (statistic == Statistic::kRate) return Sum(run.samples) / ms;
  if (statistic == Statistic::kMean) return ms / static_cast<double>(run.ms.size());
  std::vector<double> sorted = run.ms;
  std::sort(sorted.begin(), sorted.end());
  return Quantile(sorted, kQuantileOf[static_cast<size_t>(statistic)]);
}

RunSpread SpreadOf(const std::vector<StepSeries>& base, const std::vector<StepSeries>& now) {
  double quarter_squares = 0, run_squares = 0;
  size_t quarter_freedom = 0, run_freedom = 0;
  for (const auto* side : {&base, &now}) {
    std::vector<double> rates;
    for (const StepSeries& run : *side) {
      AddQuarters(run, quarter_squares, quarter_freedom);
      rates.push_back(LogRate(run.ms, run.samples));
    }
    run_squares += SquaresAround(rates);
    run_freedom += side->empty() ? 0 : side->size() - 1;
  }
  // The mean of four quarters deviates half as much as one.
  double parts = kLeastDeviation * kLeastDeviation;
  if (quarter_freedom > 0) {
    parts = std::max(parts, quarter_squares / static_cast<double>(quarter_freedom) / kParts);
  }
  const size_t freedom = run_freedom + kPartsFreedom;
  double variance =
      (run_squares + static_cast<double>(kPartsFreedom) * parts) / static_cast<double>(freedom);
  if (run_freedom > 0) {
    variance = std::max(variance, run_squares / static_cast<double>(run_freedom));
  }
  return {std::sqrt(variance), freedom};
}

std::array<Reach, kStatistics> StepReach(const std::vector<StepSeries>& base,
                                         const std::vector<StepSeries>& now,
                                         const RunSpread& spread) {
  const SideDraws base_draws = DrawSide(base, 1);
  const SideDraws now_draws = DrawSide(now, 2);
  const double factor = FewBlocksFactor(std::min(base_draws.blocks, now_draws.blocks));
  const double widening =
      StudentT95(spread.freedom) * spread.deviation *
      std::sqrt(1 / static_cast<double>(base.size()) + 1 / static_cast<double>(now.size()));
  std::array<Reach, kStatistics> reach;
  std::vector<double> changes(kResamples);
  for (size_t s = 0; s < kStatistics; ++s) {
    for (size_t i = 0; i < kResamples; ++i) {
      changes[i] = now_draws.draws[i][s] - base_draws.draws[i][s];
    }
    std::sort(changes.begin(), changes.end());
    // Where resamples tend to lie above the runs, the runs tend to lie above the truth: the
    // interval is the resamples' mirrored.
    const double below = factor * std::max(0.0, Quantile(changes, 0.975));
    const double above = factor * std::max(0.0, -Quantile(changes, 0.025));
    reach[s] = {-std::hypot(below, widening), std::hypot(above, widening)};
  }
  return reach;
}

}  // namespace stallscope::compare
