// What rules ask of the spec that a run was made from, and the names that patches need. Private to
// the room; any thread.
#ifndef STALLSCOPE_ANALYZER_FINDINGS_SPEC_VIEW_H_
#define STALLSCOPE_ANALYZER_FINDINGS_SPEC_VIEW_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/findings/findings.h"
#include "analyzer/spec/ops.h"

namespace stallscope::findings {

// Null without a spec, or where it has no such stage.
const StageSpec* SpecOf(const Case& c, StageId stage);

// Null also where the stage is of another kind.
template <class Kind>
const Kind* As(const Case& c, StageId stage) {
  const StageSpec* spec = SpecOf(c, stage);
  return spec == nullptr ? nullptr : std::get_if<Kind>(&spec->kind);
}

template <class Kind>
const Kind* As(const StageSpec& stage) {
  return std::get_if<Kind>(&stage.kind);
}

// The first stage of this kind; the number of stages where there is none.
template <class Kind>
size_t FirstOf(const Spec& spec) {
  size_t i = 0;
  while (i < spec.stages.size() && As<Kind>(spec.stages[i]) == nullptr) ++i;
  return i;
}

// Calls of a valid spec always parse; one that does not is left out.
std::vector<OpCall> OpsOf(const MapSpec& map);
std::vector<std::string> Texts(const std::vector<OpCall>& ops, size_t from, size_t to);

bool IsRandom(const MapSpec& map);
bool Decodes(const MapSpec& map);
bool IsDecode(const OpCall& op);
// Leaves every element with one size.
bool MakesOneSize(const OpCall& op);
// Makes bytes into something wider.
bool Widens(const OpCall& op);
// Treats values one by one, so that it may as well treat a whole batch.
bool IsPerValue(const OpCall& op);

// `base`, with a number where a stage has that name already.
std::string FreshName(const Spec& spec, const std::string& base);

// Stages from the source on whose results are the same in every epoch: what a store may keep. The
// last map may be of that kind only in part. A shuffle or a repeat on the way must move behind the
// store: it would freeze the order, or never see an epoch's end.
struct StablePrefix {
  size_t last = 0;                  // index of its last stage
  size_t ops = 0;                   // of that stage, where only some of its ops belong to it
  bool whole = true;                // all of it does
  bool maps = false;                // there is work in it besides reading
  std::vector<std::string> behind;  // stages that move, in their order
};
StablePrefix StablePrefixOf(const Spec& spec);

// Puts a stage behind the prefix, and splits a map for it where it must.
Patch StoreBehind(const Spec& spec, const StablePrefix& prefix, StageSpec store);

// The ops at the end of the last map before the batch that a device can do as well, and that leave
// the batch elements of one size.
struct DeviceTail {
  size_t stage = 0;  // index of the map
  size_t first = 0;  // op
};
std::optional<DeviceTail> DeviceTailOf(const Spec& spec);
// Gives the ops from `tail.first` on to the device.
Patch OnDevice(const Spec& spec, const DeviceTail& tail);

}  // namespace stallscope::findings

#endif  // STALLSCOPE_ANALYZER_FINDINGS_SPEC_VIEW_H_
