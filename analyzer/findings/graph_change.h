// What a change of a tf.data stage is in the calls of the job's that build the graph. As
// source_change.h has it: made from the trace alone, and what cannot be written without guessing is
// said in words. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/base/ids.h"
#include "analyzer/findings/source_change.h"

namespace stallscope::findings {

// What a change of a stage is in the calls that build a tf.data graph.
enum class GraphEdit {
  kInParallel,  // calls of its function run in parallel
  kAnyOrder,    // its elements come in any order
  kAhead,       // batches are prepared ahead of the trainer, behind all stages
};

// One, or none where that stands so already or the graph was not seen. A number of calls that the
// patch has for the stage is taken over, else TensorFlow's tuner decides.
std::vector<SourceChange> GraphChangesOf(const model::Run& run, StageId stage, GraphEdit edit,
                                         const Patch& patch);

// The call that made the stage's node of a tf.data graph, else what built the graph. Line 0: the
// stage is of none.
struct GraphPlace {
  std::string file;
  uint32_t line = 0;
};
GraphPlace GraphPlaceOf(const model::Run& run, StageId stage);

}  // namespace stallscope::findings
