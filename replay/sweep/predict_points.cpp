#include "replay/sweep/predict_points.h"

#include <algorithm>
#include <atomic>
#include <thread>

namespace stallscope::replay {
namespace {

void PredictPoint(const Spec& spec, const Predictor& predictor, Point& point) {
  const auto changed = SpecOf(spec, point);
  if (!changed.ok()) {
    point.error = changed.error().Line();
    return;
  }
  const Price price = predictor.Predict(changed.value(), point.cores);
  point.predicted = price.rate;
  point.predicted_memory_bytes = price.memory_bytes;
  point.unpriced = price.unpriced;
}

}  // namespace

void PredictPoints(const Spec& spec, const Predictor& predictor, unsigned threads,
                   const std::function<bool()>& stop_requested, std::vector<Point>& points) {
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < points.size(); i = next++) {
      if (stop_requested && stop_requested()) return;
      PredictPoint(spec, predictor, points[i]);
    }
  };
  const size_t count = std::clamp<size_t>(threads, 1, std::max<size_t>(points.size(), 1));
  std::vector<std::jthread> others;
  for (size_t i = 1; i < count; ++i) others.emplace_back(work);
  work();
}

}  // namespace stallscope::replay
