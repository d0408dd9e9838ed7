#include "collectors/device/launch.h"

#include <array>

namespace stallscope::device {

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

}  // namespace stallscope::device
