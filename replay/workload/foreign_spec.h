// A spec that has the stages of a run which brought none. Private to the room; any thread.
#ifndef STALLSCOPE_REPLAY_WORKLOAD_FOREIGN_SPEC_H_
#define STALLSCOPE_REPLAY_WORKLOAD_FOREIGN_SPEC_H_

#include <string>
#include <vector>

#include "analyzer/attribution/attribution.h"
#include "analyzer/base/result.h"
#include "analyzer/model/run.h"
#include "analyzer/spec/spec.h"

namespace stallscope::replay {

struct ForeignSpec {
  Spec spec;
  std::vector<std::string> names;  // in the spec, by stage of the run
};

// The chain from the trainer's input back to the source; stages beside it are left out. Kinds are
// told by the words that loaders use for them. An error where there is no stage at all.
Result<ForeignSpec> SpecOfStages(const model::Run& run,
                                 const attribution::Attribution& attribution);

}  // namespace stallscope::replay

#endif  // STALLSCOPE_REPLAY_WORKLOAD_FOREIGN_SPEC_H_
