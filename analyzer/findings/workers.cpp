#include "analyzer/findings/workers.h"

#include <algorithm>
#include <cmath>

#include "analyzer/findings/thresholds.h"

namespace stallscope::findings {

int64_t WorkersFor(const Load* load, StageId stage, int64_t now, int64_t most) {
  Load copy = load != nullptr ? *load : Load();
  const StageLoad* use = copy.Find(stage);
  if (use == nullptr || use->service_s <= 0) return std::min(now + 1, most);
  // What the cores can feed is all that a trainer of unknown speed can ask for.
  double wanted = ConsumerSamplesPerSecond(copy);
  if (!std::isfinite(wanted)) wanted = copy.measured * std::max(2.0, copy.cores);
  double workers = std::ceil(wanted * use->items * use->service_s * kWorkerHeadroom);
  const double burned = std::min(1.0, use->cpu_s / use->service_s);
  if (copy.cores > 0 && burned > 0) workers = std::min(workers, std::ceil(copy.cores / burned));
  const double bounded = std::min(workers, static_cast<double>(most));
  return std::clamp(static_cast<int64_t>(bounded), std::min(now + 1, most), most);
}

Effect WithWorkers(StageId stage, int64_t workers) {
  return {[stage, workers](Load& load, double) {
    StageLoad* use = load.Find(stage);
    if (use == nullptr) return;
    use->own_threads = true;
    use->workers = std::max(use->workers, static_cast<double>(workers));
    use->places = std::max(use->places, static_cast<double>(workers));
  }};
}

Effect WithTimeTimes(StageId stage, std::array<double, 3> sizes) {
  return {[stage](Load& load, double size) {
            StageLoad* use = load.Find(stage);
            if (use == nullptr) return;
            use->service_s *= size;
            use->cpu_s *= size;
          },
          sizes};
}

}  // namespace stallscope::findings
