// A spec with the stages of a run that has none: the base for changes. Any thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "analyzer/attribution/attribution.h"
#include "analyzer/model/run.h"
#include "analyzer/spec/spec.h"

namespace stallscope::replay {

struct ForeignSpec {
  Spec spec;
  std::vector<std::string> names;  // in the spec, by stage of the run
  double batch = 1;                // samples of a step
  bool counts_steps = false;       // nothing says how many they are: a step counts as one
  // Stages of which nothing but the trainer's waits is known, with what to record to see inside.
  std::map<std::string, std::string, std::less<>> unseen;
  std::vector<std::string> limits;  // what was assumed
};

// The chain from the trainer's input back to the source; stages beside it are left out. Kinds are
// recognized by the words that loaders use for them. A run without any stage gets an unseen one,
// called "input": what its trainer and device do can still be varied.
ForeignSpec SpecOfStages(const model::Run& run, const attribution::Attribution& attribution);

}  // namespace stallscope::replay
