#include "collectors/trainer/batch_form.h"

#include <doctest/doctest.h>

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

  TEST_CASE("nor the numbers of words as float16") {
    CHECK(TransferType(DType::kInt32, TransferDtype::kFloat32).value() == DType::kFloat32);
    const auto lossy = TransferType(DType::kInt32, TransferDtype::kFloat16);
    REQUIRE_FALSE(lossy.ok());
    CHECK(lossy.error().Line().find("set transfer.dtype to float32") != std::string::npos);
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
