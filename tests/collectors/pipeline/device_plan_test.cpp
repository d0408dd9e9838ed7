// What a device would do by its plan against what the host does by itself.
#include "collectors/pipeline/device_plan.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "tests/support/random.h"

namespace stallscope {
namespace {

using namespace pipeline;

OpInstance Op(const char* text, uint64_t salt = 5) {
  auto parsed = ParseOp(text);
  REQUIRE(parsed.ok());
  return {std::move(parsed).value(), salt};
}

constexpr int kImages = 12;
constexpr uint64_t kSeed = 3;

std::vector<ElementId> Ids() {
  std::vector<ElementId> ids;
  for (uint64_t i = 0; i < kImages; ++i) ids.push_back({0, 1, i});
  return ids;
}

data::Tensor Pictures(int64_t side, int64_t channels = 3) {
  data::Tensor pictures(data::DType::kUint8, {kImages, side, side, channels});
  test::Random random(4);
  for (size_t i = 0; i < pictures.bytes(); ++i) {
    pictures.data()[i] = static_cast<uint8_t>(random.Below(256));
  }
  return pictures;
}

DevicePlan PlanOf(const OpInstance& op, const data::Tensor& in) {
  const auto dims = in.shape().dims().subspan(1);
  auto plan = PlanForDevice(op, Ids(), kSeed, {in.dtype(), data::Shape::Of(dims)});
  REQUIRE(plan.ok());
  REQUIRE(plan.value().has_value());
  return *std::move(plan).value();
}

// Without resizing: the pixels of each region.
std::vector<uint8_t> Cut(const data::Tensor& in, const std::vector<int32_t>& regions) {
  const int64_t side = in.shape()[1];
  std::vector<uint8_t> out;
  for (int64_t image = 0; image < kImages; ++image) {
    const int32_t* region = regions.data() + image * 5;
    for (int32_t y = 0; y < region[3]; ++y) {
      for (int32_t x = 0; x < region[2]; ++x) {
        const int32_t column = region[0] + (region[4] != 0 ? region[2] - 1 - x : x);
        const int64_t pixel = (image * side + region[1] + y) * side + column;
        for (int64_t c = 0; c < 3; ++c) out.push_back(in.data()[pixel * 3 + c]);
      }
    }
  }
  return out;
}

std::vector<uint8_t> OnHost(const OpInstance& op, const data::Tensor& in) {
  BatchOps ops(kSeed);
  data::Tensor out;
  REQUIRE(ops.Run(op, Ids(), in, out).ok());
  return {out.data(), out.data() + out.bytes()};
}

TEST_SUITE("fast") {
  TEST_CASE("a crop and a flip by their plan are the host's, pixel by pixel") {
    const auto in = Pictures(10);
    for (const char* text : {"crop(6)", "flip"}) {
      CAPTURE(text);
      const auto plan = PlanOf(Op(text), in);
      CHECK(plan.channels.empty());
      REQUIRE(plan.regions.size() == 5 * kImages);
      CHECK(Cut(in, plan.regions) == OnHost(Op(text), in));
    }
    int mirrored = 0;
    const auto plan = PlanOf(Op("flip"), in);
    for (size_t i = 0; i < kImages; ++i) mirrored += plan.regions[i * 5 + 4];
    CHECK(mirrored > 0);
    CHECK(mirrored < kImages);
  }

  TEST_CASE("a random region is the host's: another seed or salt has others") {
    const auto in = Pictures(64);
    const auto plan = PlanOf(Op("random_resized_crop(8)"), in);
    for (size_t i = 0; i < plan.regions.size(); i += 5) {
      CHECK(plan.regions[i + 2] >= 1);
      CHECK(plan.regions[i] + plan.regions[i + 2] <= 64);
      CHECK(plan.regions[i + 1] + plan.regions[i + 3] <= 64);
      CHECK(plan.regions[i + 4] == 0);
    }
    CHECK(PlanOf(Op("random_resized_crop(8)"), in).regions == plan.regions);
    CHECK(PlanOf(Op("random_resized_crop(8)", 6), in).regions != plan.regions);
    CHECK(PlanOf(Op("resize(8)"), in).regions[2] == 64);
  }

  TEST_CASE("normalize by its plan is the host's") {
    const auto in = Pictures(4);
    const auto plan = PlanOf(Op("normalize"), in);
    REQUIRE(plan.channels.size() == 6);
    CHECK(plan.regions.empty());
    const auto bytes = OnHost(Op("normalize"), in);
    const auto* host = reinterpret_cast<const float*>(bytes.data());
    for (size_t i = 0; i < in.bytes(); ++i) {
      const float ours =
          static_cast<float>(in.data()[i]) * plan.channels[i % 3] + plan.channels[3 + i % 3];
      REQUIRE(ours == doctest::Approx(host[i]).epsilon(1e-5));
    }
  }

  TEST_CASE("a cast is one, and what only the host can do has no plan") {
    const auto in = Pictures(4);
    const auto cast = PlanOf(Op("cast(float16)"), in);
    CHECK(cast.regions.empty());
    CHECK(cast.channels.empty());
    const BatchOps::Form picture{data::DType::kUint8, {4, 4, 3}};
    const auto planned = [&](const char* text, const BatchOps::Form& form) {
      auto plan = PlanForDevice(Op(text), Ids(), kSeed, form);
      REQUIRE(plan.ok());
      return plan.value().has_value();
    };
    CHECK_FALSE(planned("color_jitter", picture));
    CHECK_FALSE(planned("one_hot(3)", picture));
    CHECK_FALSE(planned("normalize", {data::DType::kUint8, {4, 4, 1}}));
    CHECK_FALSE(planned("flip", {data::DType::kUint8, {16}}));
    CHECK_FALSE(PlanForDevice(Op("crop(9)"), Ids(), kSeed, picture).ok());
  }
}

}  // namespace
}  // namespace stallscope
