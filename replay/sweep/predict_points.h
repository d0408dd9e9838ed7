// Predicts a list of points on several threads. What a point gets does not depend on how many.
#ifndef STALLSCOPE_REPLAY_SWEEP_PREDICT_POINTS_H_
#define STALLSCOPE_REPLAY_SWEEP_PREDICT_POINTS_H_

#include <functional>
#include <vector>

#include "analyzer/spec/spec.h"
#include "replay/sweep/predictor.h"
#include "replay/sweep/sweep.h"

namespace stallscope::replay {

// Sets `predicted`, `unpriced` or `error` of each that needs it. After `stop_requested` (may be
// empty; asked by any of the threads) the rest stays as it is.
void PredictPoints(const Spec& spec, const Predictor& predictor, unsigned threads,
                   const std::function<bool()>& stop_requested, std::vector<Point>& points);

}  // namespace stallscope::replay

#endif  // STALLSCOPE_REPLAY_SWEEP_PREDICT_POINTS_H_
