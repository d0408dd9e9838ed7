#include "collectors/device/launch.h"

#include <fmt/format.h>

#include <array>

namespace stallscope::device {
namespace {

struct Needs {
  size_t in;
  size_t out;
  size_t ints;
  size_t floats;
};

Needs NeedsOf(Kernel kernel) {
  switch (kernel) {
    case Kernel::kGemm:
      return {2, 1, 5, 2};
    case Kernel::kAddBias:
    case Kernel::kGeluBackward:
    case Kernel::kAdd:
      return {2, 1, 0, 0};
    case Kernel::kGelu:
    case Kernel::kCast:
    case Kernel::kFused:
    case Kernel::kAllReduce:
      return {1, 1, 0, 0};
    case Kernel::kSumRows:
      return {1, 1, 2, 0};
    case Kernel::kTranspose:
    case Kernel::kMeanPool:
    case Kernel::kMeanPoolBackward:
      return {1, 1, 3, 0};
    case Kernel::kPatches:
      return {1, 1, 5, 2};
    case Kernel::kConvert:
      return {1, 1, 0, 2};
    case Kernel::kSoftmaxCrossEntropy:
      return {3, 1, 3, 0};
    case Kernel::kZero:
      return {0, 1, 0, 0};
    case Kernel::kBeginStep:
      return {1, 0, 0, 0};
    case Kernel::kCheckFinite:
      return {2, 0, 0, 0};
    case Kernel::kSgd:
      return {2, 2, 0, 2};
    case Kernel::kAdam:
      return {2, 3, 0, 4};
    case Kernel::kUpdateScale:
      return {1, 0, 1, 0};
    case Kernel::kDense:
      return {3, 1, 7, 0};
    case Kernel::kRegions:
      return {2, 1, 6, 0};
    case Kernel::kScaleChannels:
      return {1, 1, 1, 2};
    case Kernel::kImageOp:
      break;
  }
  return {0, 0, 0, 0};
}

int64_t Elements(const std::vector<int64_t>& ints, size_t first, size_t count) {
  int64_t product = 1;
  for (size_t i = first; i < first + count; ++i) product *= ints[i];
  return product;
}

// Whether the sizes that `ints` says fit the operands.
bool Fits(const Launch& launch) {
  const auto& i = launch.ints;
  const auto& in = launch.in;
  const auto& out = launch.out;
  switch (launch.kernel) {
    case Kernel::kGemm:
      return in[0].elements == i[2] * i[4] && in[1].elements == i[4] * i[3] &&
             out[0].elements == i[2] * i[3];
    case Kernel::kDense:
      if (i[6] != 0 && (out.size() < 2 || out[1].elements != out[0].elements)) return false;
      return in[0].elements == i[2] * i[4] && in[1].elements == i[4] * i[3] &&
             in[2].elements == i[3] && out[0].elements == i[2] * i[3];
    case Kernel::kGeluBackward:
    case Kernel::kAdd:
      return in[0].elements == out[0].elements && in[1].elements == out[0].elements;
    case Kernel::kAddBias:
      return in[0].elements == out[0].elements && in[1].elements > 0 &&
             out[0].elements % in[1].elements == 0;
    case Kernel::kGelu:
    case Kernel::kCast:
    case Kernel::kConvert:
      return in[0].elements == out[0].elements;
    case Kernel::kSumRows:
      return in[0].elements == Elements(i, 0, 2) && out[0].elements == i[1];
    case Kernel::kTranspose:
      return in[0].elements == Elements(i, 0, 3) && out[0].elements == in[0].elements;
    case Kernel::kPatches:
      return i[4] > 0 && in[0].elements == Elements(i, 0, 4) &&
             out[0].elements == i[0] * (i[1] / i[4]) * (i[2] / i[4]) * i[4] * i[4] * i[3];
    case Kernel::kMeanPool:
      return in[0].elements == Elements(i, 0, 3) && out[0].elements == i[0] * i[2];
    case Kernel::kMeanPoolBackward:
      return in[0].elements == i[0] * i[2] && out[0].elements == Elements(i, 0, 3);
    case Kernel::kSoftmaxCrossEntropy:
      return in[0].elements == i[0] * i[1] && in[1].elements >= i[0] &&
             in[1].type == Type::kInt32 && in[2].elements >= int64_t{kStateValues} &&
             out[0].elements == in[0].elements;
    case Kernel::kRegions:
      return in[0].elements == Elements(i, 0, 4) && in[1].elements >= 5 * i[0] &&
             in[1].type == Type::kInt32 && out[0].elements == i[0] * i[4] * i[5] * i[3];
    case Kernel::kScaleChannels:
      return i[0] > 0 && launch.floats.size() == 2 * static_cast<size_t>(i[0]) &&
             in[0].elements == out[0].elements && in[0].elements % i[0] == 0;
    case Kernel::kSgd:
    case Kernel::kAdam:
      for (const Operand& each : out) {
        if (each.elements != in[0].elements || each.type != Type::kFloat32) return false;
      }
      return true;
    case Kernel::kAllReduce:
      for (const Operand& each : in) {
        if (each.elements != out[0].elements) return false;
      }
      return true;
    default:
      return true;
  }
}

bool FusedFits(const Launch& launch) {
  const auto inputs = static_cast<int>(launch.in.size());
  const auto outputs = static_cast<int>(launch.out.size());
  for (const Operand& out : launch.out) {
    if (out.elements != launch.out[0].elements) return false;
  }
  for (int k = 0; k < static_cast<int>(launch.fused.size()); ++k) {
    const FusedStep& step = launch.fused[static_cast<size_t>(k)];
    for (const int source : {step.a, step.b}) {
      if (source >= inputs || source < -k) return false;
    }
    if (step.out >= outputs) return false;
  }
  return !launch.fused.empty();
}

}  // namespace

size_t SizeOf(Type type) {
  switch (type) {
    case Type::kUint8:
      return 1;
    case Type::kFloat16:
    case Type::kBfloat16:
      return 2;
    case Type::kInt32:
    case Type::kFloat32:
      break;
  }
  return 4;
}

std::string_view Name(Type type) {
  constexpr std::array<std::string_view, 5> kNames = {"uint8", "int32", "float16", "bfloat16",
                                                      "float32"};
  return kNames[static_cast<size_t>(type)];
}

std::string_view Name(Kernel kernel) {
  constexpr std::array<std::string_view, 25> kNames = {"gemm",
                                                       "add_bias",
                                                       "gelu",
                                                       "gelu_backward",
                                                       "add",
                                                       "cast",
                                                       "fused",
                                                       "sum_rows",
                                                       "transpose",
                                                       "patches",
                                                       "convert",
                                                       "mean_pool",
                                                       "mean_pool_backward",
                                                       "softmax_cross_entropy",
                                                       "zero",
                                                       "begin_step",
                                                       "check_finite",
                                                       "sgd",
                                                       "adam",
                                                       "update_scale",
                                                       "all_reduce",
                                                       "image_op",
                                                       "dense",
                                                       "regions",
                                                       "scale_channels"};
  static_assert(kNames.size() == static_cast<size_t>(Kernel::kScaleChannels) + 1);
  return kNames[static_cast<size_t>(kernel)];
}

Status CheckLaunch(const Launch& launch) {
  const Needs needs = NeedsOf(launch.kernel);
  bool good = launch.in.size() >= needs.in && launch.out.size() >= needs.out &&
              launch.ints.size() >= needs.ints && launch.floats.size() >= needs.floats;
  for (const auto* list : {&launch.in, &launch.out}) {
    for (const Operand& operand : *list) good = good && operand.address != 0;
  }
  if (good && launch.kernel != Kernel::kImageOp) {
    good = launch.kernel == Kernel::kFused ? FusedFits(launch) : Fits(launch);
  }
  if (good) return {};
  return Error{ErrorKind::kRun, "operands that do not match the kernel", std::string(launch.name()),
               ""};
}

Error CaptureError(const char* what) {
  return Error{ErrorKind::kRun, what, "stream", "capture launches only, one capture at a time"};
}

Error BadLabel(int32_t label, int64_t sample, int64_t classes) {
  return Error{
      ErrorKind::kRun,
      fmt::format("label {} of sample {} is out of range ({} classes)", label, sample, classes),
      "softmax_cross_entropy", "set trainer.model.classes to the number in the data"};
}

}  // namespace stallscope::device
