// The trainers in the trace of one job: its processes, or threads of them, that each train on
// batches of their own.
#pragma once

#include <utility>

#include "analyzer/model/run.h"

namespace stallscope::model {

// Whose step it is: a process's and, unless a profile shows its thread by another number, a
// thread's. The same for all steps of a run that is no job.
using Trainer = std::pair<ProcessId, TrackId>;
Trainer TrainerOf(const Run& run, const trace::Step& step);

// Trainers that work at the same time, as torchrun's processes do, become ranks, as if each had a
// trace of its own; those that follow one another share a rank, and their steps are one sequence.
// Loaders that several of them construct in one place are one: their stages become one, whose
// workers add up. A run with one trainer stays as it is.
void SeparateTrainers(Run& run);

// For which of the loaders that share this stage a thread of this process works: one that the
// process itself, or a process above it, iterates over. None if the stage is of no loader.
LoaderId LoaderOf(const Run& run, StageId stage, ProcessId process);

}  // namespace stallscope::model
