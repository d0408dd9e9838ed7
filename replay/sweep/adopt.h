// What --resume keeps of an earlier sweep. Any thread.
#ifndef STALLSCOPE_REPLAY_SWEEP_ADOPT_H_
#define STALLSCOPE_REPLAY_SWEEP_ADOPT_H_

#include <string>

#include "analyzer/base/result.h"
#include "replay/sweep/sweep.h"

namespace stallscope::replay {

// Gives `planned` the figures that `old` has of its configurations. More repeats, another mode and
// further points may be planned; another run, kind or way to run is an error (kUsage), and so are
// points of `old` that are not planned any more: nothing that was measured is thrown away.
Status Adopt(const Sweep& old, Sweep& planned, const std::string& path);

}  // namespace stallscope::replay

#endif  // STALLSCOPE_REPLAY_SWEEP_ADOPT_H_
