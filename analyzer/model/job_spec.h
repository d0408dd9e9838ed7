// The settings of a recorded job as a spec: its knobs are those of `run --set`, `replay --vary`,
// patches and the window. Any thread.
#pragma once

#include <optional>

#include "analyzer/model/run.h"
#include "analyzer/spec/spec.h"

namespace stallscope::model {

bool IsJob(const Run& run);

// As they were in the recording. Empty for a run that is no job, and for one in which no loader was
// seen.
std::optional<Spec> JobSpecOf(const Run& run);

// What the loader's constructor was given. A trace may say anything: what makes no sense is left at
// its default.
LoaderSpec LoaderSpecOf(const trace::LoaderInfo& info);

}  // namespace stallscope::model
