#include "replay/workload/change.h"

#include <utility>

#include "analyzer/spec/knobs.h"

namespace stallscope::replay {

Result<Changed> WithPatch(const Workload& workload, const Patch& patch) {
  STALLSCOPE_ASSIGN_OR_RETURN(Spec spec, Apply(workload.spec, patch));
  return WithSpec(workload, std::move(spec));
}

Result<Changed> WithSettings(const Workload& workload, const std::vector<std::string>& settings) {
  STALLSCOPE_ASSIGN_OR_RETURN(Spec spec, ApplySettings(workload.spec, settings));
  return WithSpec(workload, std::move(spec));
}

}  // namespace stallscope::replay
