#include "analyzer/findings/spec_view.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "analyzer/findings/facts.h"
#include "analyzer/findings/thresholds.h"

namespace stallscope::findings {
namespace {

// Only these may be between a map on the device and the trainer.
bool MayFollowDevice(const StageSpec& stage) {
  const auto* map = As<MapSpec>(stage);
  if (map != nullptr) return map->on == MapOn::kDevice;
  return As<BatchSpec>(stage) != nullptr || As<PrefetchSpec>(stage) != nullptr;
}

// Makes pixels, or fails on anything else.
bool WorksOnPixels(const OpCall& op) {
  const std::string_view name = op.name();
  return IsDecode(op) || name == "decode_csv" || name == "resize" ||
         name == "random_resized_crop" || name == "color_jitter";
}

double BytesOfValue(TransferDtype dtype) {
  if (dtype == TransferDtype::kFloat32) return 4;
  return dtype == TransferDtype::kFloat16 ? 2 : 1;
}

// An element has as many bytes as the copied sample has values. Wider types have at least twice as
// many; last batches of an epoch, with fewer samples, and crops change the ratio by less.
bool HasAByteForEachValue(const Case& c) {
  const size_t at = FirstOf<BatchSpec>(*c.spec);
  if (at == c.spec->stages.size()) return false;
  const auto& batch = std::get<BatchSpec>(c.spec->stages[at].kind);
  const double values =
      BytesOfBatch(c) / BytesOfValue(c.spec->transfer.dtype) / static_cast<double>(batch.size);
  const double bytes = BytesOfElement(c);
  return !batch.pad && values > 0 && bytes < kOneByteAValue * values &&
         values < kOneByteAValue * bytes;
}

// HDF5 files are of images; raw ones hold tensors of any type.
bool StoresPixels(const Case& c) {
  bool images = false;
  bool tensors = false;
  for (const StageSpec& stage : c.spec->stages) {
    const auto* source = As<SourceSpec>(stage);
    if (source == nullptr) continue;
    images = images || source->format == SourceFormat::kHdf5;
    tensors = tensors || source->format == SourceFormat::kRaw;
    if (source->format != SourceFormat::kHdf5 && source->format != SourceFormat::kRaw) return false;
  }
  if (!tensors) return images;
  // Of several inputs, nothing tells whose elements have which size.
  return ZippedInputs(*c.spec).empty() && HasAByteForEachValue(c);
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

bool HasPixels(const Case& c) {
  if (!c.spec.has_value()) return false;
  const auto& stages = c.spec->stages;
  return StoresPixels(c) || std::any_of(stages.begin(), stages.end(), [](const StageSpec& stage) {
           const auto* map = As<MapSpec>(stage);
           if (map == nullptr || map->on == MapOn::kDevice) return false;
           const std::vector<OpCall> ops = OpsOf(*map);
           return std::any_of(ops.begin(), ops.end(), WorksOnPixels);
         });
}

bool HandsOnAsTheyAre(const StageSpec& stage, const std::string& input) {
  const auto* map = As<MapSpec>(stage);
  if (map != nullptr) return map->on == MapOn::kHost && map->input != input;
  return As<ShuffleSpec>(stage) != nullptr || As<PrefetchSpec>(stage) != nullptr ||
         As<RepeatSpec>(stage) != nullptr || As<ShardSpec>(stage) != nullptr;
}

std::optional<NextOp> OpBehind(const Spec& spec, const StageSpec& stage, size_t op) {
  const auto& map = std::get<MapSpec>(stage.kind);
  std::vector<OpCall> ops = OpsOf(map);
  if (op + 1 < ops.size()) return NextOp{std::move(ops[op + 1]), &stage, 0};
  const StageSpec* const end = spec.stages.data() + spec.stages.size();
  for (const StageSpec* next = &stage + 1; next != end; ++next) {
    if (HandsOnAsTheyAre(*next, map.input)) continue;
    const auto* later = As<MapSpec>(*next);
    if (later == nullptr || later->on == MapOn::kDevice) return std::nullopt;
    ops = OpsOf(*later);
    if (ops.empty()) return std::nullopt;
    return NextOp{std::move(ops.front()), next, static_cast<size_t>(next - &stage)};
  }
  return std::nullopt;
}

std::vector<MapTail> DeviceTailOf(const Spec& spec) {
  std::vector<MapTail> tail;
  for (size_t stage = spec.stages.size(); stage > 0; --stage) {
    const StageSpec& at = spec.stages[stage - 1];
    if (MayFollowDevice(at) || HandsOnAsTheyAre(at, "")) continue;
    const auto* map = As<MapSpec>(at);
    if (map == nullptr) break;
    const std::vector<OpCall> ops = OpsOf(*map);
    size_t first = ops.size();
    while (first > 0 && ops[first - 1].op->on_device) --first;
    const auto sizes = std::find_if(ops.begin(), ops.end(), MakesOneSize);
    if (sizes != ops.end() && !OneSizeBefore(spec, stage - 1)) {
      first = std::max(first, static_cast<size_t>(sizes - ops.begin()) + 1);
    }
    if (first < ops.size()) tail.push_back({stage - 1, first});
    if (first > 0) break;
  }
  std::reverse(tail.begin(), tail.end());
  return tail;
}

Patch OnDevice(const Spec& spec, const std::vector<MapTail>& tail) {
  Spec changed = spec;
  changed.stages.clear();
  std::vector<StageSpec> moved;
  auto next = tail.begin();
  for (size_t i = 0; i < spec.stages.size(); ++i) {
    StageSpec stage = spec.stages[i];
    if (next == tail.end() || next->stage != i) {
      changed.stages.push_back(std::move(stage));
      continue;
    }
    auto& map = std::get<MapSpec>(stage.kind);
    const size_t first = next++->first;
    if (first > 0) {
      const std::vector<OpCall> ops = OpsOf(map);
      map.ops = Texts(ops, 0, first);
      changed.stages.push_back(stage);
      stage.name = FreshName(spec, stage.name + "_device");
      map = MapSpec{.ops = Texts(ops, first, ops.size())};
    }
    map.on = MapOn::kDevice;
    moved.push_back(std::move(stage));
  }
  auto at = changed.stages.end();
  while (at != changed.stages.begin() && MayFollowDevice(*std::prev(at))) --at;
  changed.stages.insert(at, moved.begin(), moved.end());
  return Diff(spec, changed);
}

}  // namespace stallscope::findings
