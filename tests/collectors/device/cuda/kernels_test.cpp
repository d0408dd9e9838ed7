// The bodies of the GPU's kernels, run on the CPU, against the host device's kernels: the same
// arithmetic by two hands.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "analyzer/base/narrow_float.h"
#include "collectors/device/cuda/kernel_calls.h"
#include "collectors/device/host_kernels.h"
#include "collectors/device/launch.h"
#include "tests/collectors/device/devices.h"
#include "tests/support/random.h"

namespace stallscope {
namespace {

using device::FusedStep;
using device::Kernel;
using device::Launch;
using device::Operand;
using device::Type;
using namespace device::cuda;

class CpuRunner {
 public:
  template <int kNumber, class Body>
  void Each(const Body& body, int64_t count) {
    CHECK(kNumber == number_);
    for (int64_t i = 0; i < count; ++i) body(i);
  }
  template <int kNumber, class Body>
  void Rows(const Body& body, int64_t count) {
    CHECK(kNumber == number_);
    for (int64_t row = 0; row < count; ++row) body(row, OneLane{});
  }
  template <int kNumber>
  void Turn(const Transpose& body, int64_t matrices) {
    Each<kNumber>(body, matrices * body.rows * body.columns);
  }
  void Zero(device::Address address, size_t bytes) {
    std::memset(reinterpret_cast<void*>(address), 0, bytes);
  }
  explicit CpuRunner(Kernel kernel) : number_(static_cast<int>(kernel)) {}

 private:
  const int number_;
};

// A value's bytes, in which a launch's operands lie one after the other.
struct Tensor {
  Type type = Type::kFloat32;
  int64_t elements = 0;
  std::vector<uint8_t> bytes;

  Tensor(Type of, const std::vector<float>& values)
      : type(of), elements(static_cast<int64_t>(values.size())) {
    bytes.resize(values.size() * device::SizeOf(of));
    device::FromFloats(of, values.data(), elements, bytes.data());
  }
  Operand operand() { return {reinterpret_cast<device::Address>(bytes.data()), elements, type}; }
  std::vector<float> values() const {
    std::vector<float> all(static_cast<size_t>(elements));
    device::ToFloats(type, bytes.data(), elements, all.data());
    return all;
  }
};

test::Random random_values(7);

Tensor Random(Type type, int64_t elements) {
  std::vector<float> values(static_cast<size_t>(elements));
  for (float& v : values) {
    const auto whole = static_cast<float>(random_values.Below(2001));
    v = type == Type::kUint8 || type == Type::kInt32 ? std::floor(whole / 8) : whole / 1000 - 1;
  }
  return {type, values};
}

struct Case {
  Kernel kernel;
  std::vector<Tensor> in;
  std::vector<Tensor> out;
  std::vector<int64_t> ints;
  std::vector<float> floats;
  std::vector<FusedStep> fused;
};

Launch LaunchOf(Case& of) {
  Launch launch;
  launch.kernel = of.kernel;
  for (Tensor& each : of.in) launch.in.push_back(each.operand());
  for (Tensor& each : of.out) launch.out.push_back(each.operand());
  launch.ints = of.ints;
  launch.floats = of.floats;
  launch.fused = of.fused;
  return launch;
}

// One unit in the last place of the type, for values around 1; sums have a few of them.
float Within(Type type) {
  return type == Type::kFloat16 ? 4e-3f : type == Type::kBfloat16 ? 3e-2f : 1e-5f;
}

void CheckNear(const std::vector<Tensor>& ours, const std::vector<Tensor>& theirs, float times) {
  for (size_t k = 0; k < ours.size(); ++k) {
    const auto a = ours[k].values();
    const auto b = theirs[k].values();
    float farthest = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      const float scale = std::max(1.0f, std::abs(b[i]));
      const float off = std::abs(a[i] - b[i]) / scale;
      if (!(off <= farthest)) farthest = std::isnan(off) ? INFINITY : off;
    }
    CAPTURE(k);
    CHECK(farthest <= times * Within(ours[k].type));
  }
}

// The launch by the host device's kernels, and by the bodies; operands that both write are
// compared. `times`: how much farther apart they may lie, of long sums in another order.
void Compare(Case theirs, float times = 1) {
  CAPTURE(std::string(device::Name(theirs.kernel)));
  Case ours = theirs;
  const auto on = test::MakeTestDevice(device::Kind::kHost);
  const auto stream = test::Must(on->NewStream("s", trace::TrackKind::kStream));
  test::Must(stream->Run(LaunchOf(theirs), ItemId{1}));
  test::Must(stream->Synchronize());
  const Launch launch = LaunchOf(ours);
  test::Must(device::CheckLaunch(launch));
  REQUIRE(FitsInArguments(launch));
  std::vector<float> scratch(static_cast<size_t>(ScratchFloats(launch)));
  Fault fault{};
  CallKernel(launch, scratch.data(), &fault, CpuRunner(launch.kernel));
  CHECK(fault.is_set == 0);
  CheckNear(ours.out, theirs.out, times);
  CheckNear(ours.in, theirs.in, times);  // of which a state is one
}

const Type kTypes[] = {Type::kFloat32, Type::kFloat16, Type::kBfloat16};

std::vector<float> StateWith(float scale, float finite, float good = 0, float adam = 0) {
  std::vector<float> state(device::kStateValues);
  state[device::kLossScale] = scale;
  state[device::kFinite] = finite;
  state[device::kGoodSteps] = good;
  state[device::kAdamSteps] = adam;
  return state;
}

TEST_SUITE("fast") {
  TEST_CASE("elementwise kernels, alone and as a chain, with a bias that repeats") {
    for (const Type type : kTypes) {
      const int64_t rows = 9, columns = 13, all = rows * columns;
      const Tensor out(type, std::vector<float>(static_cast<size_t>(all)));
      for (const Kernel kernel : {Kernel::kAdd, Kernel::kGeluBackward}) {
        Compare({kernel, {Random(type, all), Random(type, all)}, {out}, {}, {}, {}});
      }
      Compare({Kernel::kAddBias, {Random(type, all), Random(type, columns)}, {out}, {}, {}, {}});
      Compare({Kernel::kGelu, {Random(type, all)}, {out}, {}, {}, {}});
      Compare({Kernel::kFused,
               {Random(type, all), Random(type, columns), Random(Type::kFloat32, all)},
               {out, out, Tensor(Type::kFloat32, std::vector<float>(static_cast<size_t>(all)))},
               {},
               {},
               {{Kernel::kAddBias, 0, 1, 0, type},
                {Kernel::kGelu, -1, 0, -1, type},
                {Kernel::kAdd, -2, 2, 1, type},
                {Kernel::kCast, -3, 0, 2, Type::kFloat32}}});
    }
  }

  TEST_CASE("casts between all types round as the host does") {
    const Type all[] = {Type::kUint8, Type::kInt32, Type::kFloat16, Type::kBfloat16,
                        Type::kFloat32};
    for (const Type from : all) {
      for (const Type to : all) {
        const Tensor out(to, std::vector<float>(50));
        Compare({Kernel::kCast, {Random(from, 50)}, {out}, {}, {}, {}});
      }
    }
  }

  TEST_CASE("products with each pair of transposes, and added to what is there") {
    const int64_t m = 5, n = 7, k = 11;
    for (const Type type : kTypes) {
      for (const int64_t ta : {0, 1}) {
        for (const int64_t tb : {0, 1}) {
          Compare({Kernel::kGemm,
                   {Random(type, m * k), Random(type, k * n)},
                   {Random(type, m * n)},
                   {ta, tb, m, n, k},
                   {0.5f, ta != 0 ? 0.0f : 1.0f},
                   {}});
        }
      }
    }
  }

  TEST_CASE("sums of rows, in one chunk and in many, with a last one that is short") {
    for (const int64_t rows : {1, 63, 64, 65, 1000, 20'000}) {
      Compare({Kernel::kSumRows,
               {Random(Type::kFloat32, rows * 3)},
               {Tensor(Type::kFloat32, std::vector<float>(3))},
               {rows, 3},
               {},
               {}},
              10);
      const auto chunks = ChunksOf(rows);
      CHECK(chunks.count <= 256);
      CHECK(chunks.count * chunks.rows >= rows);
      CHECK((chunks.count - 1) * chunks.rows < rows);
    }
  }

  TEST_CASE("transposes, patches with a remainder, and means") {
    for (const Type type : kTypes) {
      const auto empty = [&](int64_t elements) {
        return Tensor(type, std::vector<float>(static_cast<size_t>(elements)));
      };
      Compare(
          {Kernel::kTranspose, {Random(type, 3 * 5 * 7)}, {empty(3 * 5 * 7)}, {3, 5, 7}, {}, {}});
      // 7 x 9 pixels have 2 x 3 patches of side 3, and a row that fills none.
      Compare({Kernel::kPatches,
               {Random(Type::kUint8, 2 * 7 * 9 * 3)},
               {empty(2 * 2 * 3 * 3 * 3 * 3)},
               {2, 7, 9, 3, 3},
               {4.0f / 255, -2},
               {}});
      Compare({Kernel::kConvert, {Random(Type::kUint8, 40)}, {empty(40)}, {}, {0.5f, 1}, {}});
      Compare({Kernel::kMeanPool, {Random(type, 2 * 5 * 4)}, {empty(2 * 4)}, {2, 5, 4}, {}, {}});
      Compare({Kernel::kMeanPoolBackward,
               {Random(type, 2 * 4)},
               {empty(2 * 5 * 4)},
               {2, 5, 4},
               {},
               {}});
      Compare({Kernel::kZero, {}, {Random(type, 40)}, {}, {}, {}});
      Compare({Kernel::kAllReduce,
               {Random(type, 20), Random(type, 20), Random(type, 20)},
               {empty(20)},
               {},
               {},
               {}});
    }
  }

  TEST_CASE("regions are cut out, mirrored and resized between pixels") {
    // Two pictures of 2 x 3 with 2 channels: 10 * row + column, and 100 more in the second channel.
    std::vector<float> pixels;
    for (int image = 0; image < 2; ++image) {
      for (int row = 0; row < 2; ++row) {
        for (int column = 0; column < 3; ++column) {
          const auto value = static_cast<float>(40 * image + 10 * row + column);
          pixels.insert(pixels.end(), {value, value + 100});
        }
      }
    }
    const auto cut = [&](Type type, std::vector<float> regions, int64_t height, int64_t width) {
      Case of{Kernel::kRegions,
              {Tensor(type, pixels), Tensor(Type::kInt32, regions)},
              {Tensor(type, std::vector<float>(static_cast<size_t>(2 * height * width * 2)))},
              {2, 2, 3, 2, height, width},
              {},
              {}};
      const Launch launch = LaunchOf(of);
      test::Must(device::CheckLaunch(launch));
      Fault fault{};
      CallKernel(launch, nullptr, &fault, CpuRunner(launch.kernel));
      return of.out[0].values();
    };
    CHECK(cut(Type::kUint8, {0, 0, 3, 2, 0, 0, 0, 3, 2, 0}, 2, 3) == pixels);
    const auto mirrored = cut(Type::kFloat16, {0, 0, 3, 2, 1, 0, 0, 3, 2, 0}, 2, 3);
    CHECK(std::vector<float>(mirrored.begin(), mirrored.begin() + 6) ==
          std::vector<float>{2, 102, 1, 101, 0, 100});
    CHECK(mirrored[12] == pixels[12]);  // the second picture is not
    CHECK(cut(Type::kUint8, {1, 1, 1, 1, 0, 2, 0, 1, 1, 0}, 1, 1) ==
          std::vector<float>{11, 111, 42, 142});
    // Twice as large: the new pixels lie a quarter beside the old ones, and not outside.
    const auto larger = cut(Type::kFloat32, {0, 0, 2, 1, 0, 1, 0, 2, 1, 0}, 1, 4);
    CHECK(larger[0] == 0);
    CHECK(larger[2] == doctest::Approx(0.25));
    CHECK(larger[4] == doctest::Approx(0.75));
    CHECK(larger[6] == 1);
    CHECK(larger[8] == 41);
    // Half as large: between the two.
    CHECK(cut(Type::kFloat32, {0, 0, 2, 2, 0, 0, 0, 2, 2, 0}, 1, 1)[0] == doctest::Approx(5.5));
  }

  TEST_CASE("each channel has its own factor and summand") {
    Case of{Kernel::kScaleChannels,
            {Tensor(Type::kUint8, {1, 2, 3, 4, 5, 6})},
            {Tensor(Type::kFloat32, std::vector<float>(6))},
            {3},
            {1, 10, 100, 0.5f, 0, -1},
            {}};
    Fault fault{};
    const Launch launch = LaunchOf(of);
    test::Must(device::CheckLaunch(launch));
    CallKernel(launch, nullptr, &fault, CpuRunner(launch.kernel));
    CHECK(of.out[0].values() == std::vector<float>{1.5f, 20, 299, 4.5f, 50, 599});
    of.ints = {ScaleChannels::kMost + 1};
    CHECK_FALSE(FitsInArguments(LaunchOf(of)));
    of.ints = {4};
    CHECK_FALSE(device::CheckLaunch(LaunchOf(of)).ok());
  }

  TEST_CASE("softmax and cross-entropy, and what they add to the state") {
    for (const Type type : kTypes) {
      auto state = StateWith(64, 1);
      state[device::kLoss] = 0.25f;
      state[device::kCorrect] = 2;
      Compare({Kernel::kSoftmaxCrossEntropy,
               {Random(type, 6 * 5), Tensor(Type::kInt32, {0, 4, 2, 1, 3, 0}),
                Tensor(Type::kFloat32, state)},
               {Tensor(type, std::vector<float>(30))},
               {6, 5, 12},
               {},
               {}});
    }
  }

  TEST_CASE("the first label out of range is reported, and the others' losses still count") {
    Case of{Kernel::kSoftmaxCrossEntropy,
            {Random(Type::kFloat32, 12), Tensor(Type::kInt32, {2, 3, -1, 0}),
             Tensor(Type::kFloat32, StateWith(1, 1))},
            {Random(Type::kFloat32, 12)},
            {4, 3, 4},
            {},
            {}};
    const Launch launch = LaunchOf(of);
    std::vector<float> scratch(static_cast<size_t>(ScratchFloats(launch)));
    Fault fault{};
    CallKernel(launch, scratch.data(), &fault, CpuRunner(launch.kernel));
    CHECK(fault.is_set == 1);
    CHECK(fault.label == 3);
    CHECK(fault.sample == 1);
    CHECK(fault.classes == 3);
    CHECK(of.in[2].values()[device::kLoss] > 0);
    const auto gradient = of.out[0].values();
    CHECK(gradient[3] == 0);  // of the sample without a class
    CHECK(gradient[0] != 0);
  }

  TEST_CASE("optimizers, in steps that count and in steps that are skipped") {
    for (const Type type : kTypes) {
      for (const float finite : {0.0f, 1.0f}) {
        const Tensor state(Type::kFloat32, StateWith(8, finite, 0, 3));
        Compare({Kernel::kSgd,
                 {Random(type, 30), state},
                 {Random(Type::kFloat32, 30), Random(Type::kFloat32, 30)},
                 {},
                 {0.1f, 0.9f},
                 {}});
        std::vector<float> second(30, 0.5f);
        Compare({Kernel::kAdam,
                 {Random(type, 30), state},
                 {Random(Type::kFloat32, 30), Random(Type::kFloat32, 30),
                  Tensor(Type::kFloat32, second)},
                 {},
                 {0.1f, 0.9f, 0.999f, 1e-8f},
                 {}});
      }
      for (const float bad : {1.0f, INFINITY, NAN}) {
        auto values = Random(type, 30).values();
        values[17] = bad;
        const Tensor state(Type::kFloat32, StateWith(4, 1));
        Case of{Kernel::kCheckFinite, {Tensor(type, values), state}, {}, {}, {}, {}};
        Fault fault{};
        CallKernel(LaunchOf(of), nullptr, &fault, CpuRunner(of.kernel));
        CHECK(of.in[1].values()[device::kFinite] == (bad == 1.0f ? 1.0f : 0.0f));
      }
    }
  }

  TEST_CASE("the loss scale halves, waits, doubles, and has its ends") {
    for (const float finite : {0.0f, 1.0f}) {
      for (const float good : {0.0f, 1.0f}) {
        for (const float scale : {1.0f, 512.0f, 1.70141183e38f}) {
          Compare({Kernel::kUpdateScale,
                   {Tensor(Type::kFloat32, StateWith(scale, finite, good))},
                   {},
                   {2},
                   {},
                   {}});
        }
      }
    }
    auto state = StateWith(2, 0);
    state[device::kLoss] = 3;
    Compare({Kernel::kBeginStep, {Tensor(Type::kFloat32, state)}, {}, {}, {}, {}});
  }

  TEST_CASE("a chain that is too long for a kernel's arguments is refused") {
    Case of{Kernel::kFused, {Random(Type::kFloat32, 4)}, {Random(Type::kFloat32, 4)}, {}, {}, {}};
    of.fused.assign(Elementwise::kMostSteps, {Kernel::kGelu, 0, 0, -1, Type::kFloat32});
    CHECK(FitsInArguments(LaunchOf(of)));
    of.fused.push_back({Kernel::kGelu, 0, 0, 0, Type::kFloat32});
    CHECK_FALSE(FitsInArguments(LaunchOf(of)));
    Case sum{Kernel::kAllReduce, {}, {Random(Type::kFloat32, 4)}, {}, {}, {}};
    sum.in.assign(AllReduce::kMost + 1, Random(Type::kFloat32, 4));
    CHECK_FALSE(FitsInArguments(LaunchOf(sum)));
  }
}

}  // namespace
}  // namespace stallscope
