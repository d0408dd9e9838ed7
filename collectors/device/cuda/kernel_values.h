// Values of any type as our own kernels read and write them: widened to float32 when read, rounded
// once when written. For the device and for the host's tests.
#pragma once

#include <cstdint>

#include "collectors/device/gelu.h"
#include "collectors/device/launch.h"

#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

// For the host's pass; the device has instructions for it.
#include "analyzer/base/narrow_float.h"

namespace stallscope::device::cuda {

struct Values {
  void* at = nullptr;
  int64_t elements = 0;
  Type type = Type::kFloat32;
};

STALLSCOPE_BODY float Load(const Values& x, int64_t i) {
  switch (x.type) {
    case Type::kUint8:
      return static_cast<float>(static_cast<const uint8_t*>(x.at)[i]);
    case Type::kInt32:
      return static_cast<float>(static_cast<const int32_t*>(x.at)[i]);
#if defined(__CUDA_ARCH__)
    case Type::kFloat16:
      return __half2float(static_cast<const __half*>(x.at)[i]);
    case Type::kBfloat16:
      return __bfloat162float(static_cast<const __nv_bfloat16*>(x.at)[i]);
#else
    case Type::kFloat16:
      return FromFloat16(static_cast<const uint16_t*>(x.at)[i]);
    case Type::kBfloat16:
      return FromBfloat16(static_cast<const uint16_t*>(x.at)[i]);
#endif
    case Type::kFloat32:
      break;
  }
  return static_cast<const float*>(x.at)[i];
}

STALLSCOPE_BODY void Store(const Values& x, int64_t i, float value) {
  switch (x.type) {
    case Type::kUint8: {
      const float clamped = value < 0 ? 0 : value > 255 ? 255 : value;
      static_cast<uint8_t*>(x.at)[i] = static_cast<uint8_t>(clamped + 0.5f);
      return;
    }
    case Type::kInt32:
      static_cast<int32_t*>(x.at)[i] = static_cast<int32_t>(value);
      return;
#if defined(__CUDA_ARCH__)
    case Type::kFloat16:
      static_cast<__half*>(x.at)[i] = __float2half_rn(value);
      return;
    case Type::kBfloat16:
      static_cast<__nv_bfloat16*>(x.at)[i] = __float2bfloat16_rn(value);
      return;
#else
    case Type::kFloat16:
      static_cast<uint16_t*>(x.at)[i] = ToFloat16(value);
      return;
    case Type::kBfloat16:
      static_cast<uint16_t*>(x.at)[i] = ToBfloat16(value);
      return;
#endif
    case Type::kFloat32:
      break;
  }
  static_cast<float*>(x.at)[i] = value;
}

// To the nearest value of the type and back.
STALLSCOPE_BODY float RoundTo(Type type, float value) {
#if defined(__CUDA_ARCH__)
  if (type == Type::kFloat16) return __half2float(__float2half_rn(value));
  if (type == Type::kBfloat16) return __bfloat162float(__float2bfloat16_rn(value));
#else
  if (type == Type::kFloat16) return FromFloat16(ToFloat16(value));
  if (type == Type::kBfloat16) return FromBfloat16(ToBfloat16(value));
#endif
  return value;
}

}  // namespace stallscope::device::cuda
