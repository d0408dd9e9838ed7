// gelu with the same bits on the host and on a device: one polynomial for both. Inside this room.
#pragma once

// A function that a device's compiler compiles for the device and for the host.
#if defined(__CUDACC__)
#define STALLSCOPE_BODY __host__ __device__ __forceinline__
#else
#define STALLSCOPE_BODY inline
#endif

namespace stallscope::device {

// tanh as a quotient of polynomials (Eigen's, after Cephes): within 3 ulp, and the compiler
// vectorizes it, which it cannot do with a call to tanhf.
STALLSCOPE_BODY float TanhOf(float x) {
  const float above = x < -7.9f ? -7.9f : x;
  const float c = 7.9f < above ? 7.9f : above;
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

}  // namespace stallscope::device
