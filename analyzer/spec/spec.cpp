#include "analyzer/spec/spec.h"

#include "analyzer/spec/spec.pb.h"

namespace stallscope {
namespace {

// The names live as long as the descriptors: for ever.
template <class Value>
std::string_view NameOf(const google::protobuf::EnumDescriptor* words, Value value) {
  const auto* found = words->FindValueByNumber(static_cast<int>(value));
  return found == nullptr ? std::string_view() : std::string_view(found->name());
}

EmulatedSpec Figures(double us_per_sample, double gbps_pinned, double gbps_pageable) {
  EmulatedSpec figures;
  figures.compute_us_per_sample = us_per_sample;
  figures.h2d_gbps_pinned = gbps_pinned;
  figures.h2d_gbps_pageable = gbps_pageable;
  figures.launch_us = 5;
  return figures;
}

}  // namespace

std::string_view ToWord(SourceFormat v) { return NameOf(spec_pb::Source::Format_descriptor(), v); }
std::string_view ToWord(OnError v) { return NameOf(spec_pb::Source::OnError_descriptor(), v); }
std::string_view ToWord(MapOn v) { return NameOf(spec_pb::Map::On_descriptor(), v); }
std::string_view ToWord(CacheWhere v) { return NameOf(spec_pb::Cache::Where_descriptor(), v); }
std::string_view ToWord(TransferDtype v) {
  return NameOf(spec_pb::Transfer::Dtype_descriptor(), v);
}
std::string_view ToWord(ModelKind v) { return NameOf(spec_pb::Model::Kind_descriptor(), v); }
std::string_view ToWord(OptimizerKind v) {
  return NameOf(spec_pb::Optimizer::Kind_descriptor(), v);
}
std::string_view ToWord(StrategyKind v) { return NameOf(spec_pb::Strategy::Kind_descriptor(), v); }
std::string_view ToWord(EmulatedPreset v) {
  return NameOf(spec_pb::Emulated::Preset_descriptor(), v);
}
std::string_view ToWord(TrainerDevice v) { return NameOf(spec_pb::Device::Kind_descriptor(), v); }
std::string_view ToWord(Precision v) { return NameOf(spec_pb::Trainer::Precision_descriptor(), v); }
std::string_view ToWord(GraphMode v) { return NameOf(spec_pb::Trainer::Graph_descriptor(), v); }

std::string_view KindWord(const StageSpec& stage) {
  const auto* kinds = spec_pb::Stage::descriptor()->FindOneofByName("kind");
  return kinds->field(static_cast<int>(stage.kind.index()))->name();
}

// Round figures of a ResNet-50 step in mixed precision and of the device's usual link. They stand
// for a class of device, for trying out what another one would wait for; they are no benchmark.
EmulatedSpec Resolved(const EmulatedSpec& emulated) {
  switch (emulated.preset) {
    case EmulatedPreset::kT4:
      return Figures(2500, 12, 4);
    case EmulatedPreset::kV100:
      return Figures(700, 12, 4);
    case EmulatedPreset::kA100:
      return Figures(400, 24, 8);
    case EmulatedPreset::kH100:
      return Figures(200, 50, 10);
    case EmulatedPreset::kNone:
      break;
  }
  return emulated;
}

}  // namespace stallscope
