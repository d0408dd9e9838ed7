// Compiled without contraction into fused multiply-adds: a chain that is fused must give the bits
// of the same kernels run one by one.
#include <algorithm>
#include <array>
#include <vector>

#include "collectors/device/gelu.h"
#include "collectors/device/host_kernels.h"
#include "collectors/device/narrow_float.h"

namespace stallscope::device {
namespace {

// Values in flight: a block of each result stays in the first-level cache.
constexpr int64_t kBlock = 512;
using BlockValues = std::array<float, kBlock>;

// An operand's values [start, start + count), widened where they are narrow. `period`: how often
// it repeats; a bias has as many values as a row.
const float* Block(const Operand& operand, int64_t start, int64_t count, BlockValues& space) {
  const bool repeats = start + count > operand.elements;
  const auto* bytes = static_cast<const uint8_t*>(Pointer(operand));
  if (operand.type == Type::kFloat32 && !repeats) return Floats(operand) + start;
  for (int64_t done = 0; done < count;) {
    const int64_t at = (start + done) % operand.elements;
    const int64_t part = std::min(count - done, operand.elements - at);
    ToFloats(operand.type, bytes + static_cast<size_t>(at) * SizeOf(operand.type), part,
             space.data() + done);
    done += part;
  }
  return space.data();
}

void Apply(Kernel kernel, const float* __restrict a, const float* __restrict b,
           float* __restrict out, int64_t count) {
  switch (kernel) {
    case Kernel::kGelu:
      for (int64_t i = 0; i < count; ++i) out[i] = GeluOf(a[i]);
      return;
    case Kernel::kGeluBackward:
      for (int64_t i = 0; i < count; ++i) out[i] = b[i] * GeluSlopeOf(a[i]);
      return;
    case Kernel::kAddBias:
    case Kernel::kAdd:
      for (int64_t i = 0; i < count; ++i) out[i] = a[i] + b[i];
      return;
    default:  // kCast
      std::copy_n(a, count, out);
  }
}

void RunSteps(const Launch& launch, const std::vector<FusedStep>& steps) {
  const int64_t elements = launch.out[0].elements;
  std::vector<BlockValues> results(steps.size());
  BlockValues space_a;
  BlockValues space_b;
  for (int64_t start = 0; start < elements; start += kBlock) {
    const int64_t count = std::min(kBlock, elements - start);
    const auto value = [&](int which, BlockValues& space) -> const float* {
      if (which < 0) return results[static_cast<size_t>(-1 - which)].data();
      return Block(launch.in[static_cast<size_t>(which)], start, count, space);
    };
    for (size_t k = 0; k < steps.size(); ++k) {
      const FusedStep& step = steps[k];
      const bool two = step.kernel != Kernel::kGelu && step.kernel != Kernel::kCast;
      float* result = results[k].data();
      Apply(step.kernel, value(step.a, space_a), two ? value(step.b, space_b) : nullptr, result,
            count);
      Round(step.type, result, count);
      if (step.out < 0) continue;
      const Operand& out = launch.out[static_cast<size_t>(step.out)];
      FromFloats(
          out.type, result, count,
          static_cast<uint8_t*>(Pointer(out)) + static_cast<size_t>(start) * SizeOf(out.type));
    }
  }
}

}  // namespace

void RunElementwise(const Launch& launch) {
  if (launch.kernel == Kernel::kFused) return RunSteps(launch, launch.fused);
  RunSteps(launch, {FusedStep{launch.kernel, 0, 1, 0, launch.out[0].type}});
}

}  // namespace stallscope::device
