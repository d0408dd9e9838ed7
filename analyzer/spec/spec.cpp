#include "analyzer/spec/spec.h"

#include <algorithm>

#include "analyzer/spec/spec.pb.h"

namespace stallscope {
namespace {

// The names live as long as the descriptors: forever.
template <class Value>
std::string_view NameOf(const google::protobuf::EnumDescriptor* words, Value value) {
  const auto* found = words->FindValueByNumber(static_cast<int>(value));
  return found == nullptr ? std::string_view() : std::string_view(found->name());
}

// According to NVIDIA's data sheets, tensor cores do twice as many operations per second in fp16
// and bf16 as in TF32: 312 and 156 TFLOPS on an A100, 989 and 495 on an H100 SXM, without sparsity.
// We assume that published steps ran in TF32, as frameworks compute float32 convolutions on these
// devices, and that they consist only of such operations: a real step gains less.
constexpr double kNarrowOverTf32 = 2;

// `seconds` a step of `batch` samples, so that a step of that batch takes them exactly.
EmulatedSpec Figures(double seconds, int batch, double gbps_pinned) {
  EmulatedSpec figures;
  figures.compute_us_per_sample = seconds * 1e6 / batch;
  figures.h2d_gbps_pinned = gbps_pinned;
  figures.fp16_speed = figures.bf16_speed = kNarrowOverTf32;
  return figures;
}

// 10^9 bytes/s from pinned memory, as measured and published.
// PCIe 4.0 x16: 25, the measured peak of an A100 in Qureshi et al., "GPU-Initiated On-Demand
// High-Throughput Storage Access in the BaM System Architecture" (ASPLOS 2023); the authors say in
// github.com/ZaidQureshi/bam, issue 54, that it is one.
constexpr double kPcie4 = 25;
// PCIe 5.0 x16: 55.63, host_to_device_memcpy_ce in the example output of NVIDIA's nvbandwidth, as
// the tutorial after NVIDIA's blog post "NVbandwidth" shows it (dev.smart-guide.co.kr).
constexpr double kPcie5 = 55.63;

}  // namespace

std::string_view ToWord(SourceFormat v) { return NameOf(spec_pb::Source::Format_descriptor(), v); }
std::string_view ToWord(OnError v) { return NameOf(spec_pb::Source::OnError_descriptor(), v); }
std::string_view ToWord(SourceJoin v) { return NameOf(spec_pb::Source::Join_descriptor(), v); }
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
std::string_view ToWord(StartMethod v) { return NameOf(spec_pb::Loader::Start_descriptor(), v); }
std::string_view ToWord(GraphMode v) { return NameOf(spec_pb::Trainer::Graph_descriptor(), v); }

std::string_view KindWord(const StageSpec& stage) {
  const auto* kinds = spec_pb::Stage::descriptor()->FindOneofByName("kind");
  return kinds->field(static_cast<int>(stage.kind.index()))->name();
}

bool IsJob(const Spec& spec) {
  return std::any_of(spec.stages.begin(), spec.stages.end(), [](const StageSpec& stage) {
    return std::holds_alternative<LoaderSpec>(stage.kind);
  });
}

std::vector<std::string> ZippedInputs(const Spec& spec) {
  std::vector<std::string> names;
  for (const StageSpec& stage : spec.stages) {
    const auto* const source = std::get_if<SourceSpec>(&stage.kind);
    if (source != nullptr && source->join == SourceJoin::kZip) names.push_back(stage.name);
  }
  return names;
}

std::string FreshName(const Spec& spec, const std::string& base) {
  const auto taken = [&](const std::string& name) {
    return std::any_of(spec.stages.begin(), spec.stages.end(),
                       [&](const StageSpec& stage) { return stage.name == name; });
  };
  std::string name = base;
  for (int i = 2; taken(name); ++i) name = base + std::to_string(i);
  return name;
}

// Steps: `computation_time` and `batch_size` of the MLPerf Storage benchmark's emulated
// accelerators, in the file configs/dlio/workload/<preset>.yaml of github.com/mlcommons/storage.
// They were measured for one batch and are taken to grow with it. What is not published with them
// (pageable copies, latency, launches) keeps the field's default.
EmulatedSpec Resolved(const EmulatedSpec& emulated) {
  switch (emulated.preset) {
    case EmulatedPreset::kResnet50A100:
      return Figures(0.435, 400, kPcie4);
    case EmulatedPreset::kResnet50H100:
      return Figures(0.224, 400, kPcie5);
    case EmulatedPreset::kUnet3dA100:
      return Figures(0.636, 7, kPcie4);
    case EmulatedPreset::kUnet3dH100:
      return Figures(0.323, 7, kPcie5);
    case EmulatedPreset::kCosmoflowA100:
      return Figures(0.00551, 1, kPcie4);
    case EmulatedPreset::kCosmoflowH100:
      return Figures(0.00350, 1, kPcie5);
    case EmulatedPreset::kNone:
      break;
  }
  return emulated;
}

double EmulatedSpeed(const TrainerSpec& trainer) {
  const EmulatedSpec figures = Resolved(trainer.emulated);
  switch (trainer.precision) {
    case Precision::kTf32:
      return figures.tf32_speed;
    case Precision::kFp16:
      return figures.fp16_speed;
    case Precision::kBf16:
      return figures.bf16_speed;
    case Precision::kFp32:
      break;
  }
  return 1;
}

double EmulatedActivationBytes(const TrainerSpec& trainer) {
  const auto wide = static_cast<double>(Resolved(trainer.emulated).activation_bytes);
  const bool narrow =
      trainer.precision == Precision::kFp16 || trainer.precision == Precision::kBf16;
  return narrow ? wide / 2 : wide;
}

}  // namespace stallscope
