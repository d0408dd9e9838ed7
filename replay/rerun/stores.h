// Where the runs of a replay put what they store. Any thread.
#ifndef STALLSCOPE_REPLAY_RERUN_STORES_H_
#define STALLSCOPE_REPLAY_RERUN_STORES_H_

#include <string>

#include "analyzer/spec/spec.h"

namespace stallscope::replay {

// Snapshots and caches on disk that do not exist yet are made in the folder, so that trying a
// change leaves nothing behind. Those that exist are read where they are.
Spec WithStoresIn(Spec spec, const std::string& folder);

}  // namespace stallscope::replay

#endif  // STALLSCOPE_REPLAY_RERUN_STORES_H_
