// Evaluation and checkpoints in a foreign trace, by the names that frameworks give them. One thread
// at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "analyzer/model/run.h"

namespace stallscope::importers {

// Keras numbers the steps of fit() and of evaluate() alike, by these names. Without the first, the
// second may be a user's own name for any step.
constexpr std::string_view kKerasTrain = "train";
constexpr std::string_view kKerasTest = "test";

// "evaluation" or "checkpoint" if a framework calls its own one this; else empty. A word that also
// means something else counts only as a whole name, or with the framework's file.
std::string_view BesideLabel(std::string_view name);

// Labels what the trainer does beside its steps: each such span of a detail track, unless it is
// within another one, gets a span of activity kEvaluation with the label's class. Its thread's own
// account of that time is dropped: a batch that it fetched there was for no step, and waiting for
// it is no stall. Spans must be in order, and stay so. `label_class` gives the class of a label.
void LabelBeside(model::Run& run,
                 const std::function<uint16_t(std::string_view label)>& label_class);

}  // namespace stallscope::importers
