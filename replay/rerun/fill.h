// Stores on disk: caches and snapshots, which one pass over the data fills and later ones read. The
// gain of a store shows in the runs that read it. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analyzer/base/result.h"
#include "analyzer/spec/spec.h"
#include "replay/rerun/rerun.h"

namespace stallscope::replay {

bool IsOnDisk(const StageSpec& stage);

// What a run put into a store for later runs.
struct Filling {
  std::string store;     // its name; empty if the run filled none that outlives it
  uint64_t samples = 0;  // that are in it
  double seconds = 0;    // from the first of them to the last
};
Filling FillingOf(const Spec& spec, const Rerun& rerun);

// A spec for one pass over the data, which completes its stores. Nothing if no pass ends before a
// store.
std::optional<Spec> FillSpec(const Spec& spec);

// The same with about `elements` of the data, and enough steps to fill its last store on disk and
// to read it twice. `per_file`: elements per file; 0: unknown. The error is that of missing data.
Result<Spec> WithPartOfTheData(const Spec& spec, int64_t elements, double per_file);

}  // namespace stallscope::replay
