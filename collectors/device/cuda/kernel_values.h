// Values of any type as our own kernels read and write them: widened to float32 where they are
// read, and rounded once where they are written. For the device and for the host's tests.
#ifndef STALLSCOPE_COLLECTORS_DEVICE_CUDA_KERNEL_VALUES_H_
#define STALLSCOPE_COLLECTORS_DEVICE_CUDA_KERNEL_VALUES_H_

#include <cstdint>

#include "collectors/device/launch.h"

#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#define STALLSCOPE_BODY __host__ __device__ __forceinline__
#else
#define STALLSCOPE_BODY inline
#endif

// Of the host's pass; the device has instructions for it.
#include "collectors/device/narrow_float.h"

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

// The host device's tanh, by the same polynomials.
STALLSCOPE_BODY float TanhOf(float x) {
  const float c = x < -7.9f ? -7.9f : x > 7.9f ? 7.9f : x;
  const float s = c * c;
  float p = -2.76076847742355e-16f;
  p = p * s + 2.00018790482477e-13f;
  p = p * s + -8.60467152213735e-11f;
  p = p * s + 5.12229709037114e-08f;
  p = p * s + 1.48572235717979e-05f;
  p = p * s + 6.37261928875436e-04f;
  p = p * s + 4.89352455891786e-03f;
  float q = 1.19825839466702e-06f;
  q = q * s + 1.18534705686654e-04f;
  q = q * s + 2.26843463243900e-03f;
  q = q * s + 4.89352518554385e-03f;
  return c * p / q;
}

constexpr float kGeluRoot = 0.7978845608f;  // sqrt(2 / pi)
constexpr float kGeluCube = 0.044715f;

STALLSCOPE_BODY float GeluOf(float x) {
  return 0.5f * x * (1.0f + TanhOf(kGeluRoot * (x + kGeluCube * x * x * x)));
}
STALLSCOPE_BODY float GeluSlopeOf(float x) {
  const float t = TanhOf(kGeluRoot * (x + kGeluCube * x * x * x));
  return 0.5f * (1.0f + t) +
         0.5f * x * (1.0f - t * t) * kGeluRoot * (1.0f + 3.0f * kGeluCube * x * x);
}

}  // namespace stallscope::device::cuda

#endif  // STALLSCOPE_COLLECTORS_DEVICE_CUDA_KERNEL_VALUES_H_
