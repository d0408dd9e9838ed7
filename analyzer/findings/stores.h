// Keeping the results of a pipeline's first stages: what is saved, what it takes. Private to the
// room; any thread.
#ifndef STALLSCOPE_ANALYZER_FINDINGS_STORES_H_
#define STALLSCOPE_ANALYZER_FINDINGS_STORES_H_

#include <optional>

#include "analyzer/findings/capacity.h"
#include "analyzer/findings/spec_view.h"

namespace stallscope::findings {

struct StoreCase {
  StablePrefix prefix;
  double share = 0;          // of step time that is blamed on its stages
  std::string names;         // "read, decode"
  double element_bytes = 0;  // of what would be stored; 0: the run does not tell
  uint64_t elements = 0;     // of an epoch; likewise
};

// Nothing where the run's stall has nothing to do with stages that a store could spare, or where
// the spec has a store already.
std::optional<StoreCase> StoreCaseOf(const Case& c);

// The stages before the store do nothing any more. `left` of the source's time stays for each
// sample, which is what reading from the store takes. `late`: the part of the run that fills it.
Effect Stored(const Case& c, const StoreCase& store, std::array<double, 3> left, double late);

}  // namespace stallscope::findings

#endif  // STALLSCOPE_ANALYZER_FINDINGS_STORES_H_
