// What a framework's own trace says of its input pipeline: the stages from the source to the
// trainer, what they hand on, and the operations in their calls. For runs without a spec. Private
// to the room; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/findings/facts.h"
#include "analyzer/findings/named_ops.h"

namespace stallscope::findings {

// From the source to the stage that the trainer asks. Empty with a spec, or if no profiler showed a
// pipeline of several stages. Of a stage with several inputs the first is followed.
std::vector<StageId> TracedPipeline(const Case& c);

// The index of the first stage of this role from `from` on; the number of stages if there is none.
size_t FirstOf(const Case& c, const std::vector<StageId>& pipeline, StageRole role,
               size_t from = 0);
// The index of the nearest stage before `at` that is no prefetch; `at` if there is none.
size_t WorkBefore(const Case& c, const std::vector<StageId>& pipeline, size_t at);

// Calls a function for each element: a map, also one that tf.data has fused with the batch behind
// it, but no flat_map, which hands on the elements of a file.
bool IsMap(const Case& c, StageId stage);

// A setting in the framework's words; empty if the trace does not have it.
std::string_view SettingOf(const Case& c, StageId stage, std::string_view name);
int64_t NumberSettingOf(const Case& c, StageId stage, std::string_view name);  // 0: unknown
// The types of what the stage hands on begin with this one, where pictures stand.
bool HandsOn(const Case& c, StageId stage, std::string_view type);
// The bytes of one element; nothing if its shape varies, or if the trace does not show it.
std::optional<double> BytesHandedOn(const Case& c, StageId stage);
// How many of an element's components are pictures or stacks of them.
size_t PicturesHandedOn(const Case& c, StageId stage);

// The operations of the stage's call in which most were recorded, in order: profilers leave out
// the cheap ones of some calls.
std::vector<std::string> OpsOfACall(const Case& c, StageId stage);
// Any call of the stage ran an operation of this family.
bool Runs(const Case& c, StageId stage, OpFamily family);
// The index of the first operation of this family from `from` on; their number if there is none.
size_t FirstOp(const std::vector<std::string>& ops, OpFamily family, size_t from = 0);

// The stages from the source on whose results are the same in every epoch, as far as the trace
// shows: what a cache or a snapshot may keep.
struct TracedPrefix {
  size_t last = 0;     // index of its last map
  double share = 0;    // of step time that is blamed on its stages
  double of_maps = 0;  // and on its maps alone
  std::string names;   // of those that are blamed
};
// Nothing if it has no map, if the pipeline has a store already, or if little is blamed on it.
std::optional<TracedPrefix> TracedPrefixOf(const Case& c, const std::vector<StageId>& pipeline);

}  // namespace stallscope::findings
