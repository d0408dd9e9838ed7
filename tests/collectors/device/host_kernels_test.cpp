// The arithmetic of the host device against plain loops.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "collectors/device/narrow_float.h"
#include "tests/collectors/device/devices.h"
#include "tests/support/random.h"

namespace stallscope {
namespace {

using device::Kernel;
using device::Launch;
using device::Operand;
using device::Type;
using test::Get;
using test::Must;
using test::OnDevice;
using test::Put;

std::vector<float> RandomValues(test::Random& random, size_t count) {
  std::vector<float> values(count);
  for (float& v : values) v = static_cast<float>(random.Below(2001)) / 1000 - 1;
  return values;
}

struct Host {
  std::unique_ptr<device::Device> on = test::MakeTestDevice(device::Kind::kHost);
  std::unique_ptr<device::Stream> stream = Must(on->NewStream("s", trace::TrackKind::kStream));

  OnDevice With(const std::vector<float>& values, Type type = Type::kFloat32) {
    OnDevice made(*on, static_cast<int64_t>(values.size()), type);
    std::vector<uint8_t> bytes(made.block.bytes());
    device::FromFloats(type, values.data(), made.operand.elements, bytes.data());
    Put(*stream, made, bytes);
    return made;
  }
  std::vector<float> Values(const OnDevice& of) {
    const auto bytes = Get<uint8_t>(*stream, of);
    std::vector<float> values(static_cast<size_t>(of.operand.elements));
    device::ToFloats(of.operand.type, bytes.data(), of.operand.elements, values.data());
    return values;
  }
  std::vector<float> Run(Launch launch, int64_t elements, Type type = Type::kFloat32) {
    const OnDevice out(*on, elements, type);
    launch.out = {out.operand};
    Must(stream->Run(launch, ItemId{1}));
    return Values(out);
  }
};

bool Near(const std::vector<float>& a, const std::vector<float>& b, float within) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!(std::abs(a[i] - b[i]) <= within)) return false;
  }
  return true;
}

TEST_SUITE("fast") {
  TEST_CASE("gemm with each pair of transposes") {
    Host host;
    test::Random random(1);
    const int64_t m = 5, n = 7, k = 11;
    for (const int64_t ta : {0, 1}) {
      for (const int64_t tb : {0, 1}) {
        const auto a = RandomValues(random, static_cast<size_t>(m * k));
        const auto b = RandomValues(random, static_cast<size_t>(k * n));
        std::vector<float> want(static_cast<size_t>(m * n));
        for (int64_t r = 0; r < m; ++r) {
          for (int64_t c = 0; c < n; ++c) {
            for (int64_t i = 0; i < k; ++i) {
              want[static_cast<size_t>(r * n + c)] +=
                  2 * a[static_cast<size_t>(ta ? i * m + r : r * k + i)] *
                  b[static_cast<size_t>(tb ? c * k + i : i * n + c)];
            }
          }
        }
        for (const Type type : {Type::kFloat32, Type::kFloat16, Type::kBfloat16}) {
          const auto da = host.With(a, type);
          const auto db = host.With(b, type);
          Launch gemm;
          gemm.kernel = Kernel::kGemm;
          gemm.in = {da.operand, db.operand};
          gemm.ints = {ta, tb, m, n, k};
          gemm.floats = {2, 0};
          const float within = type == Type::kFloat32   ? 1e-5f
                               : type == Type::kFloat16 ? 0.02f
                                                        : 0.2f;
          CHECK(Near(host.Run(gemm, m * n, type), want, within));
        }
      }
    }
  }

  TEST_CASE("a fused chain has the bits of its kernels, and is rounded where they round") {
    Host host;
    test::Random random(2);
    for (const Type type : {Type::kFloat32, Type::kFloat16, Type::kBfloat16}) {
      const int64_t rows = 37, columns = 41, all = rows * columns;
      const auto x = host.With(RandomValues(random, static_cast<size_t>(all)), type);
      const auto y = host.With(RandomValues(random, static_cast<size_t>(all)), type);
      const auto bias = host.With(RandomValues(random, static_cast<size_t>(columns)), type);
      const OnDevice sum(*host.on, all, type), act(*host.on, all, type), out(*host.on, all, type);
      const auto run = [&](Kernel kernel, std::vector<Operand> in, const OnDevice& into) {
        Launch launch;
        launch.kernel = kernel;
        launch.in = std::move(in);
        launch.out = {into.operand};
        Must(host.stream->Run(launch, ItemId{1}));
      };
      run(Kernel::kAddBias, {x.operand, bias.operand}, sum);
      run(Kernel::kGelu, {sum.operand}, act);
      run(Kernel::kGeluBackward, {sum.operand, y.operand}, out);
      const OnDevice add(*host.on, all, type);
      run(Kernel::kAdd, {act.operand, out.operand}, add);

      const OnDevice kept(*host.on, all, type), last(*host.on, all, type);
      Launch fused;
      fused.kernel = Kernel::kFused;
      fused.in = {x.operand, bias.operand, y.operand};
      fused.out = {kept.operand, last.operand};
      fused.fused = {{Kernel::kAddBias, 0, 1, 0, type},
                     {Kernel::kGelu, -1, 0, -1, type},
                     {Kernel::kGeluBackward, -1, 2, -1, type},
                     {Kernel::kAdd, -2, -3, 1, type}};
      Must(host.stream->Run(fused, ItemId{1}));
      CHECK(Get<uint8_t>(*host.stream, kept) == Get<uint8_t>(*host.stream, sum));
      CHECK(Get<uint8_t>(*host.stream, last) == Get<uint8_t>(*host.stream, add));
    }
  }

  TEST_CASE("gelu is the one of the tanh formula") {
    Host host;
    std::vector<float> x, want;
    for (float v = -12; v < 12; v += 0.01f) {
      x.push_back(v);
      const double t = std::tanh(0.7978845608 * (v + 0.044715 * v * v * v));
      want.push_back(static_cast<float>(0.5 * v * (1 + t)));
    }
    const auto dx = host.With(x);
    Launch gelu;
    gelu.kernel = Kernel::kGelu;
    gelu.in = {dx.operand};
    CHECK(Near(host.Run(gelu, dx.operand.elements), want, 5e-6f));
  }

  TEST_CASE("patches are taken out of images row by row, scaled, what fills none is left out") {
    Host host;
    std::vector<float> image(5 * 4 * 3);
    std::iota(image.begin(), image.end(), 0.0f);
    const auto on = host.With(image, Type::kUint8);
    Launch patches;
    patches.kernel = Kernel::kPatches;
    patches.in = {on.operand};
    patches.ints = {1, 5, 4, 3, 2};
    patches.floats = {2, 1};
    const auto out = host.Run(patches, 4 * 12);
    const std::vector<int> pixels = {0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15};
    for (size_t p = 0; p < pixels.size(); ++p) {
      for (size_t c = 0; c < 3; ++c) {
        CHECK(out[p * 3 + c] == static_cast<float>(pixels[p] * 3 + static_cast<int>(c)) * 2 + 1);
      }
    }
  }

  TEST_CASE("transposes, sums of rows, means and their gradients") {
    Host host;
    std::vector<float> x(2 * 3 * 4);
    std::iota(x.begin(), x.end(), 0.0f);
    const auto dx = host.With(x);
    Launch launch;
    launch.in = {dx.operand};
    launch.ints = {2, 3, 4};
    launch.kernel = Kernel::kTranspose;
    const auto turned = host.Run(launch, 24);
    CHECK(turned[0 * 12 + 1 * 3 + 2] == x[0 * 12 + 2 * 4 + 1]);
    CHECK(turned[1 * 12 + 3 * 3 + 0] == x[1 * 12 + 0 * 4 + 3]);
    launch.kernel = Kernel::kMeanPool;
    CHECK(host.Run(launch, 8) == std::vector<float>{4, 5, 6, 7, 16, 17, 18, 19});
    launch.kernel = Kernel::kSumRows;
    launch.ints = {6, 4};
    CHECK(host.Run(launch, 4) == std::vector<float>{60, 66, 72, 78});
    const auto gradient = host.With({3, 6});
    launch.kernel = Kernel::kMeanPoolBackward;
    launch.in = {gradient.operand};
    launch.ints = {1, 3, 2};
    CHECK(host.Run(launch, 6) == std::vector<float>{1, 2, 1, 2, 1, 2});
    launch.kernel = Kernel::kAllReduce;
    launch.in = {gradient.operand, gradient.operand};
    CHECK(host.Run(launch, 2) == std::vector<float>{6, 12});
  }

  TEST_CASE("an infinite gradient skips the step and halves the scale, good ones double it") {
    Host host;
    std::vector<float> values(device::kStateValues, 0.0f);
    values[device::kLossScale] = 8;
    const auto state = host.With(values);
    const auto weights = host.With({1, 2});
    const auto velocity = host.With({0, 0});
    const auto step = [&](const std::vector<float>& gradients) {
      const auto gradient = host.With(gradients, Type::kFloat16);
      Launch launch;
      const auto run = [&](Kernel kernel) {
        launch.kernel = kernel;
        Must(host.stream->Run(launch, ItemId{1}));
      };
      launch.in = {state.operand};
      launch.ints = {2};
      run(Kernel::kBeginStep);
      launch.in = {gradient.operand, state.operand};
      run(Kernel::kCheckFinite);
      launch.out = {weights.operand, velocity.operand};
      launch.floats = {0.5f, 0};
      run(Kernel::kSgd);
      launch.in = {state.operand};
      run(Kernel::kUpdateScale);
      Must(host.stream->Synchronize());
    };
    step({16, 8});
    CHECK(host.Values(weights) == std::vector<float>{0, 1.5f});
    step({1e9f, 8});  // more than float16 has
    CHECK(host.Values(weights) == std::vector<float>{0, 1.5f});
    CHECK(host.Values(state)[device::kFinite] == 0);
    CHECK(host.Values(state)[device::kLossScale] == 4);
    step({0, 0});
    CHECK(host.Values(state)[device::kLossScale] == 4);
    step({0, 0});
    CHECK(host.Values(state)[device::kLossScale] == 8);
    CHECK(host.Values(state)[device::kFinite] == 1);
  }
}

}  // namespace
}  // namespace stallscope
