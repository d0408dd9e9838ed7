// Is the data that a run was given still here, and still the same? A measurement on other data
// would look like an effect of the change. Any thread.
#ifndef STALLSCOPE_REPLAY_RERUN_DATA_CHECK_H_
#define STALLSCOPE_REPLAY_RERUN_DATA_CHECK_H_

#include "analyzer/base/result.h"
#include "analyzer/model/run.h"
#include "analyzer/spec/spec.h"

namespace stallscope::replay {

// `spec` is the one that the run was made from. Data that is missing or not the recorded one is
// ErrorKind::kInput, and offers to emulate. A run that was made without files always passes.
Status CheckData(const model::Run& run, const Spec& spec);

}  // namespace stallscope::replay

#endif  // STALLSCOPE_REPLAY_RERUN_DATA_CHECK_H_
