// Changes of a tf.data stage as edits of the job's calls that build the graph. As in
// source_change.h, from the trace alone; what would take a guess is described in words. Pure; any
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/base/ids.h"
#include "analyzer/findings/source_change.h"

namespace stallscope::findings {

// How a stage's call changes.
enum class GraphEdit {
  kInParallel,  // calls its function in parallel
  kAnyOrder,    // yields its elements in any order
  kAhead,       // prepares batches ahead of the trainer, after all stages
};

// One change; none if the source already has it, or if the graph was not recorded. The number of
// calls is the patch's for this stage, or else TensorFlow's tuner decides.
std::vector<SourceChange> GraphChangesOf(const model::Run& run, StageId stage, GraphEdit edit,
                                         const Patch& patch);

// The call that made the stage's node of a tf.data graph, or else the call that built the graph.
// Line 0: the stage belongs to no graph.
struct GraphPlace {
  std::string file;
  uint32_t line = 0;
};
GraphPlace GraphPlaceOf(const model::Run& run, StageId stage);

}  // namespace stallscope::findings
