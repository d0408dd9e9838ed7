#include "analyzer/findings/spec_view.h"

#include <algorithm>

namespace stallscope::findings {
namespace {

// Only these may be between a map on the device and the trainer.
bool MayFollowDevice(const StageSpec& stage) {
  const auto* map = As<MapSpec>(stage);
  if (map != nullptr) return map->on == MapOn::kDevice;
  return As<BatchSpec>(stage) != nullptr || As<PrefetchSpec>(stage) != nullptr;
}

}  // namespace

const StageSpec* SpecOf(const Case& c, StageId stage) {
  if (!c.spec.has_value()) return nullptr;
  const std::string_view name = c.run.NameOf(stage);
  const auto& stages = c.spec->stages;
  const auto at = std::find_if(stages.begin(), stages.end(),
                               [&](const StageSpec& spec) { return spec.name == name; });
  return at == stages.end() ? nullptr : &*at;
}

const std::string& LastSource(const Spec& spec) {
  size_t next = 1;
  while (next < spec.stages.size() && As<SourceSpec>(spec.stages[next]) != nullptr) ++next;
  return spec.stages[next - 1].name;
}

std::vector<std::string> Texts(const std::vector<OpCall>& ops, size_t from, size_t to) {
  std::vector<std::string> texts;
  for (size_t i = from; i < to; ++i) texts.push_back(ops[i].Text());
  return texts;
}

std::string Joined(const std::vector<OpCall>& ops, size_t from, size_t to) {
  std::string joined;
  for (const std::string& op : Texts(ops, from, to)) joined += (joined.empty() ? "" : ", ") + op;
  return joined;
}

SetChange SetOps(const std::string& stage, const std::vector<std::string>& ops) {
  // An op's canonical text contains nothing that JSON must escape.
  std::string json;
  for (const std::string& op : ops) json += (json.empty() ? "[\"" : ", \"") + op + "\"";
  return {stage + ".ops", json.empty() ? "[]" : json + "]"};
}

bool OneSizeBefore(const Spec& spec, size_t stage) {
  for (size_t i = 0; i < stage; ++i) {
    const auto* map = As<MapSpec>(spec.stages[i]);
    if (map == nullptr || !map->input.empty()) continue;
    const std::vector<OpCall> ops = OpsOf(*map);
    if (std::any_of(ops.begin(), ops.end(), MakesOneSize)) return true;
  }
  return false;
}

bool Decodes(const MapSpec& map) {
  const std::vector<OpCall> ops = OpsOf(map);
  return std::any_of(ops.begin(), ops.end(), IsDecode);
}

std::optional<DeviceTail> DeviceTailOf(const Spec& spec) {
  size_t stage = spec.stages.size();
  while (stage > 0 && MayFollowDevice(spec.stages[stage - 1])) --stage;
  if (stage == 0 || stage == spec.stages.size()) return std::nullopt;
  const auto* map = As<MapSpec>(spec.stages[stage - 1]);
  if (map == nullptr) return std::nullopt;
  const std::vector<OpCall> ops = OpsOf(*map);
  size_t first = ops.size();
  while (first > 0 && ops[first - 1].op->on_device) --first;
  const bool sized = OneSizeBefore(spec, stage - 1);
  const auto sizes = std::find_if(ops.begin(), ops.end(), MakesOneSize);
  if (!sized && sizes != ops.end()) {
    first = std::max(first, static_cast<size_t>(sizes - ops.begin()) + 1);
  }
  if (first == ops.size()) return std::nullopt;
  return DeviceTail{stage - 1, first};
}

Patch OnDevice(const Spec& spec, const DeviceTail& tail) {
  const StageSpec& stage = spec.stages[tail.stage];
  const auto& map = std::get<MapSpec>(stage.kind);
  Patch patch;
  if (tail.first == 0) {
    patch.changes.emplace_back(SetTo(stage.name + ".on", "device"));
    return patch;
  }
  const std::vector<OpCall> ops = OpsOf(map);
  MapSpec device;
  device.ops = Texts(ops, tail.first, ops.size());
  device.on = MapOn::kDevice;
  patch.changes.emplace_back(SetOps(stage.name, Texts(ops, 0, tail.first)));
  patch.changes.emplace_back(
      InsertChange{{FreshName(spec, stage.name + "_device"), device}, Place::After(stage.name)});
  return patch;
}

}  // namespace stallscope::findings
