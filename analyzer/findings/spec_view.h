// What rules ask of the spec that a run was made from, and the names that patches need. Private to
// the room; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/findings/findings.h"
#include "analyzer/spec/ops.h"

namespace stallscope::findings {

// Null without a spec, or if it has no such stage.
const StageSpec* SpecOf(const Case& c, StageId stage);

// Null also if the stage is of another kind.
template <class Kind>
const Kind* As(const Case& c, StageId stage) {
  const StageSpec* spec = SpecOf(c, stage);
  return spec == nullptr ? nullptr : std::get_if<Kind>(&spec->kind);
}

template <class Kind>
const Kind* As(const StageSpec& stage) {
  return std::get_if<Kind>(&stage.kind);
}

// The first stage of this kind; the number of stages if there is none.
template <class Kind>
size_t FirstOf(const Spec& spec) {
  size_t i = 0;
  while (i < spec.stages.size() && As<Kind>(spec.stages[i]) == nullptr) ++i;
  return i;
}

// The name of the last source; those that are concatenated stand first, one behind the other.
const std::string& LastSource(const Spec& spec);

std::vector<std::string> Texts(const std::vector<OpCall>& ops, size_t from, size_t to);
// "flip, normalize".
std::string Joined(const std::vector<OpCall>& ops, size_t from, size_t to);
// Gives the map these ops, each as its canonical text.
SetChange SetOps(const std::string& stage, const std::vector<std::string>& ops);

bool Decodes(const MapSpec& map);
// What is batched was pixels, with a byte for each value: ops decode them or take nothing else, or
// the files hold them. A generated source's bytes stand for any data.
bool HasPixels(const Case& c);

// Its elements of this input are those that it gets, and another map may change them just as well
// before it.
bool HandsOnAsTheyAre(const StageSpec& stage, const std::string& input);

// The op that gets what an op of a map returns.
struct NextOp {
  OpCall call;
  const StageSpec* stage = nullptr;  // of the spec
  size_t stages_on = 0;              // 0: in the same map
};
// That of the op `op` of `stage`, a map of `spec`: also in a later map on the host, if all stages
// between them hand this input's elements on as they are, and keep none for a later epoch.
std::optional<NextOp> OpBehind(const Spec& spec, const StageSpec& stage, size_t op);

// An op before this stage makes all elements of the first input the same size.
bool OneSizeBefore(const Spec& spec, size_t stage);

// The ops of a map from `first` on.
struct MapTail {
  size_t stage = 0;  // index of the map
  size_t first = 0;  // op
};
// What a device could run instead of the host, in order: the last ops of the first input, over as
// many maps as there are, with nothing behind them that needs their result on the host. They leave
// the batch elements of one size.
std::vector<MapTail> DeviceTailOf(const Spec& spec);
// Gives these ops to the device, behind all stages of the host.
Patch OnDevice(const Spec& spec, const std::vector<MapTail>& tail);

}  // namespace stallscope::findings
