#include "replay/workload/workload.h"

namespace stallscope::replay {

uint64_t Workload::steps() const {
  const int64_t asked = spec.trainer.steps;
  return asked > 0 ? static_cast<uint64_t>(asked) : recorded->steps;
}

}  // namespace stallscope::replay
