#include "gui/viewmodel/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyzer/base/math.h"
#include "analyzer/base/units.h"
#include "analyzer/words/words.h"
#include "gui/viewmodel/axis.h"

namespace stallscope::viewmodel {
namespace {

constexpr size_t kMostBins = 48;
constexpr size_t kMostDots = 3'000;
constexpr size_t kMostOutliers = 30;
// Tukey's fence for far outliers.
constexpr double kFence = 3;

// Few values in many bins would look like a comb.
size_t BinsFor(size_t values) {
  const double twice_the_root = 2 * std::sqrt(static_cast<double>(values));
  return std::clamp<size_t>(static_cast<size_t>(twice_the_root), 8, kMostBins);
}

struct Quartiles {
  double low = 0;
  double high = 0;
  double Fence() const { return high + kFence * std::max(high - low, high * 0.01); }
};

Quartiles QuartilesOf(const std::vector<double>& sorted) {
  return {Quantile(sorted, 0.25), Quantile(sorted, 0.75)};
}

Paint LargestOf(const attribution::StepShare& step) {
  const auto most = std::max_element(step.ns.begin(), step.ns.end());
  return PaintOf(static_cast<attribution::Category>(most - step.ns.begin()));
}

class StepsBuilder {
 public:
  StepsBuilder(const session::State& state, const session::OpenRun& open)
      : state_(state), open_(open), attribution_(*state.shown.attribution) {}

  StepsModel Make() {
    Gather();
    if (rows_.empty()) {
      model_.nothing = state_.view.range.has_value() ? "No step starts in this range."
                                                     : "The trace has no steps.";
      return std::move(model_);
    }
    // Other steps are drawn, but count in no figure, as in the report.
    std::vector<double> counted = Counted();
    const size_t others = ms_.size() - counted.size();
    if (counted.empty()) counted = ms_;
    std::sort(counted.begin(), counted.end());
    fence_ms_ = QuartilesOf(counted).Fence();
    model_.summary = {words::Counted(counted.size(), "step")};
    if (others > 0 && counted.size() < ms_.size()) {
      model_.summary[0] +=
          ", " + words::Counted(others, OnlyWarmUp() ? "warm-up step" : "step") + " excluded";
    }
    if (const auto& step = state_.shown.report->step_ms) {
      model_.summary.push_back("p50 " + Text(step->p50) + ", p95 " +
                               words::MillisecondsOrDash(step->p95) + ", p99 " +
                               words::MillisecondsOrDash(step->p99));
    }
    model_.summary.push_back("min " + Text(counted.front()) + ", max " + Text(counted.back()));
    model_.histogram = MakeHistogram(counted, BinsFor(counted.size()), "ms");
    model_.y_max_ms = NiceEnd(*std::max_element(ms_.begin(), ms_.end()));
    model_.y_ticks = TickTexts(0, model_.y_max_ms, &Text);
    AddDots();
    AddOutliers();
    return std::move(model_);
  }

 private:
  static std::string Text(double ms) {
    return words::Duration(static_cast<int64_t>(std::llround(ms * static_cast<double>(kNsPerMs))));
  }

  void Gather() {
    const auto& times = open_.index->step_times;
    const auto& range = state_.view.range;
    for (size_t row = 0; row < times.size(); ++row) {
      const int64_t start = times[row].start_ns;
      if (range.has_value() && (start < range->start_ns || start >= range->end_ns)) continue;
      rows_.push_back(row);
      ms_.push_back(static_cast<double>(times[row].end_ns - start) / static_cast<double>(kNsPerMs));
    }
    if (rows_.empty()) return;
    model_.times = {times[rows_.front()].start_ns, times[rows_.front()].end_ns};
    for (const uint64_t row : rows_) {
      model_.times.start_ns = std::min(model_.times.start_ns, times[row].start_ns);
      model_.times.end_ns = std::max(model_.times.end_ns, times[row].end_ns);
    }
  }

  std::vector<double> Counted() const {
    const auto first = attribution_.window.first_row;
    std::vector<double> counted;
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i] >= first && rows_[i] - first < attribution_.steps.size()) {
        counted.push_back(ms_[i]);
      }
    }
    return counted;
  }

  // Whether the steps before the window are excluded for nothing else.
  bool OnlyWarmUp() const {
    const attribution::Window& window = attribution_.window;
    return !window.cold.has_value() && !window.profiled.has_value() && window.probed_steps == 0 &&
           window.profiled_of == 0;
  }

  // Every n-th step, and all that stand out.
  void AddDots() {
    const size_t every = rows_.size() / kMostDots + 1;
    const auto first = attribution_.window.first_row;
    for (size_t i = 0; i < rows_.size(); ++i) {
      const uint64_t row = rows_[i];
      StepDot dot;
      dot.step_row = row;
      dot.outlier = ms_[i] > fence_ms_;
      dot.selected = state_.view.selected.step_row == row;
      if (i % every != 0 && !dot.outlier && !dot.selected) continue;
      const auto& time = open_.index->step_times[row];
      dot.x = static_cast<float>(static_cast<double>(time.start_ns - model_.times.start_ns) /
                                 static_cast<double>(std::max<int64_t>(model_.times.ns(), 1)));
      dot.y = static_cast<float>(std::clamp(ms_[i] / model_.y_max_ms, 0.0, 1.0));
      dot.warm_up = row < first;
      if (row >= first && row - first < attribution_.steps.size()) {
        dot.paint = LargestOf(attribution_.steps[row - first]);
      }
      model_.dots.push_back(dot);
    }
  }

  void AddOutliers() {
    model_.outliers.columns = {{"step", true}, {"time", true}, {"at", true}, {"mostly", false}};
    std::vector<size_t> far;
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (ms_[i] > fence_ms_) far.push_back(i);
    }
    std::stable_sort(far.begin(), far.end(), [&](size_t a, size_t b) { return ms_[a] > ms_[b]; });
    if (far.size() > kMostOutliers) far.resize(kMostOutliers);
    const auto first = attribution_.window.first_row;
    for (const size_t i : far) {
      const uint64_t row = rows_[i];
      const auto& time = open_.index->step_times[row];
      const int64_t at = time.start_ns - open_.index->window.start_ns;
      std::string mostly = row < first && OnlyWarmUp() ? "warm-up" : "excluded";
      if (row >= first && row - first < attribution_.steps.size()) {
        mostly = WordFor(LargestOf(attribution_.steps[row - first]));
      }
      model_.outlier_rows.push_back(row);
      model_.outliers.rows.push_back(
          {{words::Grouped(time.index)},
           {Text(ms_[i]), {}, words::ExactNs(time.end_ns - time.start_ns)},
           {words::Duration(at), {}, words::ExactNs(at)},
           {std::move(mostly)}});
    }
  }

  const session::State& state_;
  const session::OpenRun& open_;
  const attribution::Attribution& attribution_;
  StepsModel model_;
  std::vector<uint64_t> rows_;
  std::vector<double> ms_;
  double fence_ms_ = 0;
};

}  // namespace

Histogram MakeHistogram(std::vector<double> values, size_t bins, const std::string& unit) {
  Histogram histogram;
  histogram.unit = unit;
  if (values.empty() || bins == 0) return histogram;
  std::sort(values.begin(), values.end());
  const Quartiles quartiles = QuartilesOf(values);
  histogram.low = values.front();
  histogram.high = std::min(values.back(), quartiles.Fence());
  if (!(histogram.high > histogram.low)) histogram.high = histogram.low + 1;
  histogram.bins.resize(bins);
  for (const double value : values) {
    if (value > histogram.high) {
      ++histogram.above;
      continue;
    }
    const double at = (value - histogram.low) / (histogram.high - histogram.low);
    ++histogram.bins[std::min(static_cast<size_t>(at * static_cast<double>(bins)), bins - 1)];
  }
  if (histogram.above > 0) {
    histogram.beyond = fmt::format("{} more, up to {:.3g} {}", words::Grouped(histogram.above),
                                   values.back(), unit);
  }
  histogram.most = *std::max_element(histogram.bins.begin(), histogram.bins.end());
  histogram.tick_texts = TickTexts(histogram.low, histogram.high,
                                   [&](double at) { return fmt::format("{:.3g} {}", at, unit); });
  return histogram;
}

StepsModel BuildSteps(const session::State& state) {
  const session::OpenRun* const open = state.Active();
  if (open == nullptr || open->index == nullptr || state.shown.attribution == nullptr ||
      state.shown.report == nullptr) {
    StepsModel model;
    model.nothing = "No run has been analyzed yet.";
    return model;
  }
  return StepsBuilder(state, *open).Make();
}

size_t DotAt(const StepsModel& model, float x, float y, float reach_x, float reach_y) {
  size_t best = kNoDot;
  float nearest = 1;
  for (size_t i = 0; i < model.dots.size(); ++i) {
    const float dx = (model.dots[i].x - x) / reach_x;
    const float dy = (model.dots[i].y - y) / reach_y;
    const float distance = dx * dx + dy * dy;
    if (distance > nearest) continue;
    nearest = distance;
    best = i;
  }
  return best;
}

std::vector<std::string> StepTooltip(const session::State& state, uint64_t step_row) {
  std::vector<std::string> lines;
  const session::OpenRun* const open = state.Active();
  if (open == nullptr || open->index == nullptr || step_row >= open->index->step_times.size()) {
    return lines;
  }
  const model::StepInterval& step = open->index->step_times[step_row];
  lines.push_back(fmt::format("step {}", step.index));
  lines.push_back(words::BothNs(step.end_ns - step.start_ns));
  lines.push_back("starts at " + words::ExactNs(step.start_ns - open->index->window.start_ns));
  if (state.shown.attribution == nullptr) return lines;
  const attribution::Attribution& attribution = *state.shown.attribution;
  const size_t first = attribution.window.first_row;
  if (step_row < first || step_row - first >= attribution.steps.size()) return lines;
  for (const attribution::Category category : attribution::kReportOrder) {
    const int64_t ns = attribution.steps[step_row - first].ns[attribution::At(category)];
    if (ns > 0) lines.push_back(std::string(WordFor(PaintOf(category))) + ": " + words::BothNs(ns));
  }
  return lines;
}

}  // namespace stallscope::viewmodel
