// Steps where nobody marked any: a training loop launches the same kernels again and again. Any
// thread.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_FOREIGN_KERNEL_RHYTHM_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_FOREIGN_KERNEL_RHYTHM_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/model/run.h"

namespace stallscope::importers {

struct Rhythm {
  trace::StringId kernel;          // the first of each round
  std::vector<int64_t> starts_ns;  // of each round: its launch where that is known
};

// Nothing where fewer than three rounds repeat, or where they do not repeat evenly: most kernels'
// names must occur as often as there are rounds or a multiple of it (nearly so in at least eight
// rounds: a recording may be cut out of a run), and no round may hold more than 1.5 times the
// median's kernels.
std::optional<Rhythm> FindRhythm(const model::Run& run);

}  // namespace stallscope::importers

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_FOREIGN_KERNEL_RHYTHM_H_
