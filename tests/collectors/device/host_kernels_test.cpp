// The arithmetic of devices against plain loops.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "analyzer/base/narrow_float.h"
#include "collectors/device/host_kernels.h"
#include "tests/collectors/device/on_cuda.h"
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

struct Runs {
  explicit Runs(device::Kind kind) : on(test::MakeTestDevice(kind)) {}

  std::unique_ptr<device::Device> on;
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
  COMPUTING_DEVICE_CASE("gemm with each pair of transposes") {
    Runs runs(on_each.kinds[0]);
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
          const auto da = runs.With(a, type);
          const auto db = runs.With(b, type);
          Launch gemm;
          gemm.kernel = Kernel::kGemm;
          gemm.in = {da.operand, db.operand};
          gemm.ints = {ta, tb, m, n, k};
          gemm.floats = {2, 0};
          const float within = type == Type::kFloat32   ? 1e-5f
                               : type == Type::kFloat16 ? 0.02f
                                                        : 0.2f;
          CHECK(Near(runs.Run(gemm, m * n, type), want, within));
        }
      }
    }
  }

  COMPUTING_DEVICE_CASE(
      "a fused chain has the bits of its kernels, and is rounded where they round") {
    Runs runs(on_each.kinds[0]);
    test::Random random(2);
    for (const Type type : {Type::kFloat32, Type::kFloat16, Type::kBfloat16}) {
      const int64_t rows = 37, columns = 41, all = rows * columns;
      const auto x = runs.With(RandomValues(random, static_cast<size_t>(all)), type);
      const auto y = runs.With(RandomValues(random, static_cast<size_t>(all)), type);
      const auto bias = runs.With(RandomValues(random, static_cast<size_t>(columns)), type);
      const OnDevice sum(*runs.on, all, type), act(*runs.on, all, type), out(*runs.on, all, type);
      const auto run = [&](Kernel kernel, std::vector<Operand> in, const OnDevice& into) {
        Launch launch;
        launch.kernel = kernel;
        launch.in = std::move(in);
        launch.out = {into.operand};
        Must(runs.stream->Run(launch, ItemId{1}));
      };
      run(Kernel::kAddBias, {x.operand, bias.operand}, sum);
      run(Kernel::kGelu, {sum.operand}, act);
      run(Kernel::kGeluBackward, {sum.operand, y.operand}, out);
      const OnDevice add(*runs.on, all, type);
      run(Kernel::kAdd, {act.operand, out.operand}, add);

      const OnDevice kept(*runs.on, all, type), last(*runs.on, all, type);
      Launch fused;
      fused.kernel = Kernel::kFused;
      fused.in = {x.operand, bias.operand, y.operand};
      fused.out = {kept.operand, last.operand};
      fused.fused = {{Kernel::kAddBias, 0, 1, 0, type},
                     {Kernel::kGelu, -1, 0, -1, type},
                     {Kernel::kGeluBackward, -1, 2, -1, type},
                     {Kernel::kAdd, -2, -3, 1, type}};
      Must(runs.stream->Run(fused, ItemId{1}));
      CHECK(Get<uint8_t>(*runs.stream, kept) == Get<uint8_t>(*runs.stream, sum));
      CHECK(Get<uint8_t>(*runs.stream, last) == Get<uint8_t>(*runs.stream, add));
    }
  }

  COMPUTING_DEVICE_CASE("gelu is the one of the tanh formula") {
    Runs runs(on_each.kinds[0]);
    std::vector<float> x, want;
    for (float v = -12; v < 12; v += 0.01f) {
      x.push_back(v);
      const double t = std::tanh(0.7978845608 * (v + 0.044715 * v * v * v));
      want.push_back(static_cast<float>(0.5 * v * (1 + t)));
    }
    const auto dx = runs.With(x);
    Launch gelu;
    gelu.kernel = Kernel::kGelu;
    gelu.in = {dx.operand};
    CHECK(Near(runs.Run(gelu, dx.operand.elements), want, 5e-6f));
  }

  COMPUTING_DEVICE_CASE(
      "patches are taken out of images row by row, scaled, what fills none is left out") {
    Runs runs(on_each.kinds[0]);
    std::vector<float> image(5 * 4 * 3);
    std::iota(image.begin(), image.end(), 0.0f);
    const auto on = runs.With(image, Type::kUint8);
    Launch patches;
    patches.kernel = Kernel::kPatches;
    patches.in = {on.operand};
    patches.ints = {1, 5, 4, 3, 2};
    patches.floats = {2, 1};
    const auto out = runs.Run(patches, 4 * 12);
    const std::vector<int> pixels = {0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15};
    for (size_t p = 0; p < pixels.size(); ++p) {
      for (size_t c = 0; c < 3; ++c) {
        CHECK(out[p * 3 + c] == static_cast<float>(pixels[p] * 3 + static_cast<int>(c)) * 2 + 1);
      }
    }
  }

  COMPUTING_DEVICE_CASE("transposes, sums of rows, means and their gradients") {
    Runs runs(on_each.kinds[0]);
    std::vector<float> x(2 * 3 * 4);
    std::iota(x.begin(), x.end(), 0.0f);
    const auto dx = runs.With(x);
    Launch launch;
    launch.in = {dx.operand};
    launch.ints = {2, 3, 4};
    launch.kernel = Kernel::kTranspose;
    const auto turned = runs.Run(launch, 24);
    CHECK(turned[0 * 12 + 1 * 3 + 2] == x[0 * 12 + 2 * 4 + 1]);
    CHECK(turned[1 * 12 + 3 * 3 + 0] == x[1 * 12 + 0 * 4 + 3]);
    launch.kernel = Kernel::kMeanPool;
    CHECK(runs.Run(launch, 8) == std::vector<float>{4, 5, 6, 7, 16, 17, 18, 19});
    launch.kernel = Kernel::kSumRows;
    launch.ints = {6, 4};
    CHECK(runs.Run(launch, 4) == std::vector<float>{60, 66, 72, 78});
    const auto gradient = runs.With({3, 6});
    launch.kernel = Kernel::kMeanPoolBackward;
    launch.in = {gradient.operand};
    launch.ints = {1, 3, 2};
    CHECK(runs.Run(launch, 6) == std::vector<float>{1, 2, 1, 2, 1, 2});
    launch.kernel = Kernel::kAllReduce;
    launch.in = {gradient.operand, gradient.operand};
    CHECK(runs.Run(launch, 2) == std::vector<float>{6, 12});
  }

  COMPUTING_DEVICE_CASE("transposes and sums of more than a tile, a warp or a chunk") {
    Runs runs(on_each.kinds[0]);
    test::Random random(6);
    const int64_t matrices = 2, rows = 131, columns = 70;
    for (const Type type : {Type::kFloat32, Type::kBfloat16}) {
      const auto dx =
          runs.With(RandomValues(random, static_cast<size_t>(matrices * rows * columns)), type);
      const auto x = runs.Values(dx);
      Launch launch;
      launch.kernel = Kernel::kTranspose;
      launch.in = {dx.operand};
      launch.ints = {matrices, rows, columns};
      const auto turned = runs.Run(launch, matrices * rows * columns, type);
      std::vector<float> want(x.size());
      std::vector<float> sums(static_cast<size_t>(columns));
      for (int64_t m = 0; m < matrices; ++m) {
        for (int64_t r = 0; r < rows; ++r) {
          for (int64_t c = 0; c < columns; ++c) {
            const float value = x[static_cast<size_t>((m * rows + r) * columns + c)];
            want[static_cast<size_t>((m * columns + c) * rows + r)] = value;
            sums[static_cast<size_t>(c)] += value;
          }
        }
      }
      CHECK(turned == want);
      launch.kernel = Kernel::kSumRows;
      launch.ints = {matrices * rows, columns};
      CHECK(Near(runs.Run(launch, columns), sums, 1e-3f));
    }
  }

  COMPUTING_DEVICE_CASE("softmax over more classes than a warp has lanes, its loss and its hits") {
    Runs runs(on_each.kinds[0]);
    test::Random random(7);
    const int64_t samples = 37, classes = 70;
    const auto logits = RandomValues(random, static_cast<size_t>(samples * classes));
    std::vector<int32_t> labels(static_cast<size_t>(samples));
    for (int32_t& label : labels) label = static_cast<int32_t>(random.Below(classes));
    const auto dl = runs.With(logits);
    const OnDevice on_labels(*runs.on, samples, Type::kInt32);
    Put(*runs.stream, on_labels, labels);
    std::vector<float> state(device::kStateValues);
    state[device::kLossScale] = 2;
    const auto ds = runs.With(state);
    Launch loss;
    loss.kernel = Kernel::kSoftmaxCrossEntropy;
    loss.in = {dl.operand, on_labels.operand, ds.operand};
    loss.ints = {samples, classes, samples};
    const auto gradient = runs.Run(loss, samples * classes);
    std::vector<float> want(logits.size());
    double sum_of_losses = 0;
    float hits = 0;
    for (int64_t s = 0; s < samples; ++s) {
      const float* row = logits.data() + s * classes;
      const auto label = labels[static_cast<size_t>(s)];
      double sum = 0;
      for (int64_t c = 0; c < classes; ++c) sum += std::exp(static_cast<double>(row[c]));
      for (int64_t c = 0; c < classes; ++c) {
        const double p = std::exp(static_cast<double>(row[c])) / sum - (c == label ? 1 : 0);
        want[static_cast<size_t>(s * classes + c)] = static_cast<float>(2 * p / samples);
      }
      sum_of_losses += std::log(sum) - static_cast<double>(row[label]);
      hits += std::max_element(row, row + classes) - row == label ? 1.0f : 0.0f;
    }
    CHECK(Near(gradient, want, 1e-6f));
    const auto after = runs.Values(ds);
    CHECK(after[device::kLoss] == doctest::Approx(sum_of_losses / samples).epsilon(1e-5));
    CHECK(after[device::kCorrect] == hits);
  }

  COMPUTING_DEVICE_CASE("a dense layer is its product, its bias and its gelu") {
    Runs runs(on_each.kinds[0]);
    test::Random random(8);
    const int64_t m = 24, n = 16, k = 40;  // which cuBLASLt's fused kernels take
    for (const Type type : {Type::kFloat32, Type::kFloat16, Type::kBfloat16}) {
      const auto a = runs.With(RandomValues(random, static_cast<size_t>(m * k)), type);
      const auto b = runs.With(RandomValues(random, static_cast<size_t>(k * n)), type);
      const auto bias = runs.With(RandomValues(random, static_cast<size_t>(n)), type);
      for (const int64_t gelu : {0, 1}) {
        const OnDevice out(*runs.on, m * n, type), before(*runs.on, m * n, type);
        Launch dense;
        dense.kernel = Kernel::kDense;
        dense.in = {a.operand, b.operand, bias.operand};
        dense.out = {out.operand};
        if (gelu != 0) dense.out.push_back(before.operand);
        dense.ints = {0, 0, m, n, k, 0, gelu};
        Must(runs.stream->Run(dense, ItemId{1}));
        const auto av = runs.Values(a), bv = runs.Values(b), cv = runs.Values(bias);
        std::vector<float> sums, active;
        for (int64_t r = 0; r < m; ++r) {
          for (int64_t c = 0; c < n; ++c) {
            double sum = static_cast<double>(cv[static_cast<size_t>(c)]);
            for (int64_t i = 0; i < k; ++i) {
              sum += static_cast<double>(av[static_cast<size_t>(r * k + i)]) *
                     static_cast<double>(bv[static_cast<size_t>(i * n + c)]);
            }
            sums.push_back(static_cast<float>(sum));
            const double t = std::tanh(0.7978845608 * (sum + 0.044715 * sum * sum * sum));
            active.push_back(static_cast<float>(0.5 * sum * (1 + t)));
          }
        }
        const float within = type == Type::kFloat32 ? 1e-4f : type == Type::kFloat16 ? 0.03f : 0.2f;
        CHECK(Near(runs.Values(out), gelu != 0 ? active : sums, within));
        if (gelu != 0) CHECK(Near(runs.Values(before), sums, within));
      }
    }
  }

  COMPUTING_DEVICE_CASE(
      "an infinite gradient skips the step and halves the scale, good ones double it") {
    Runs runs(on_each.kinds[0]);
    std::vector<float> values(device::kStateValues, 0.0f);
    values[device::kLossScale] = 8;
    const auto state = runs.With(values);
    const auto weights = runs.With({1, 2});
    const auto velocity = runs.With({0, 0});
    const auto step = [&](const std::vector<float>& gradients) {
      const auto gradient = runs.With(gradients, Type::kFloat16);
      Launch launch;
      const auto run = [&](Kernel kernel) {
        launch.kernel = kernel;
        Must(runs.stream->Run(launch, ItemId{1}));
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
      Must(runs.stream->Synchronize());
    };
    step({16, 8});
    CHECK(runs.Values(weights) == std::vector<float>{0, 1.5f});
    step({1e9f, 8});  // more than float16 has
    CHECK(runs.Values(weights) == std::vector<float>{0, 1.5f});
    CHECK(runs.Values(state)[device::kFinite] == 0);
    CHECK(runs.Values(state)[device::kLossScale] == 4);
    step({0, 0});
    CHECK(runs.Values(state)[device::kLossScale] == 4);
    step({0, 0});
    CHECK(runs.Values(state)[device::kLossScale] == 8);
    CHECK(runs.Values(state)[device::kFinite] == 1);
  }
}

}  // namespace
}  // namespace stallscope
