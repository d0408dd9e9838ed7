#include "replay/sweep/predict_points.h"

#include "analyzer/base/thread.h"

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
  ForEachParallel(points.size(), threads, [&](size_t i) {
    if (stop_requested && stop_requested()) return;
    PredictPoint(spec, predictor, points[i]);
  });
}

}  // namespace stallscope::replay
