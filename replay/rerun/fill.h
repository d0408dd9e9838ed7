// Stores on disk: caches and snapshots, which one pass over the data fills and later ones read.
// What a run gains by a store shows in what reads it. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analyzer/base/result.h"
#include "analyzer/spec/spec.h"
#include "replay/rerun/rerun.h"

namespace stallscope::replay {

bool IsOnDisk(const StageSpec& stage);

// The name of the stage that this run filled for those after it; empty if it filled none, or none
// that outlives it.
std::string FilledBy(const Spec& spec, const Rerun& rerun);

// One pass over the data, after which its stores are complete. Nothing where no pass ends in front
// of a store.
std::optional<Spec> FillSpec(const Spec& spec);

// The same with about `elements` of the data, and enough steps to fill its last store on disk and
// to read it twice. `per_file`: elements in a file; 0: unknown. The error is that of missing data.
Result<Spec> WithPartOfTheData(const Spec& spec, int64_t elements, double per_file);

}  // namespace stallscope::replay
