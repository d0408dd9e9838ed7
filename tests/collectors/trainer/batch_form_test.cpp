#include "collectors/trainer/batch_form.h"

#include <doctest/doctest.h>

#include "collectors/device/narrow_float.h"

namespace stallscope {
namespace {

using data::DType;
using namespace trainer;

TEST_SUITE("fast") {
  TEST_CASE("what goes over the link: never a float as uint8") {
    CHECK(TransferType(DType::kUint8, TransferDtype::kUint8).value() == DType::kUint8);
    CHECK(TransferType(DType::kUint8, TransferDtype::kFloat32).value() == DType::kFloat32);
    CHECK(TransferType(DType::kFloat32, TransferDtype::kFloat16).value() == DType::kFloat16);
    for (const DType from : {DType::kFloat32, DType::kInt32}) {
      const auto lossy = TransferType(from, TransferDtype::kUint8);
      REQUIRE_FALSE(lossy.ok());
      CHECK(lossy.error().kind == ErrorKind::kUsage);
      CHECK(lossy.error().Line().find("\"on\": \"device\"") != std::string::npos);
    }
  }

  TEST_CASE("values are widened and rounded") {
    data::Tensor bytes(DType::kUint8, {5000});
    for (size_t i = 0; i < 5000; ++i) bytes.data()[i] = static_cast<uint8_t>(i);
    data::Tensor halves(DType::kFloat16, {5000});
    ConvertValues(bytes, DType::kFloat16, halves.data());
    CHECK(device::FromFloat16(halves.Values<uint16_t>()[4999]) == 4999 % 256);
    data::Tensor wide(DType::kInt64, {3000});
    for (size_t i = 0; i < 3000; ++i) wide.Values<int64_t>()[i] = static_cast<int64_t>(i) - 5;
    data::Tensor floats(DType::kFloat32, {3000});
    ConvertValues(wide, DType::kFloat32, floats.data());
    CHECK(floats.Values<float>()[2999] == 2994);
  }

  TEST_CASE("a model says what it takes") {
    ModelSpec model;
    CHECK(CheckForm({8, {32, 32, 3}, DType::kUint8}, model).ok());
    const auto flat = CheckForm({8, {1000}, DType::kUint8}, model);
    REQUIRE_FALSE(flat.ok());
    CHECK(flat.error().Line().find("a sample of this batch is 1000 of uint8") != std::string::npos);
    CHECK_FALSE(CheckForm({8, {8, 32, 3}, DType::kUint8}, model).ok());
    model.kind = ModelKind::kMlp;
    CHECK(CheckForm({8, {1000}, DType::kUint8}, model).ok());
  }
}

}  // namespace
}  // namespace stallscope
