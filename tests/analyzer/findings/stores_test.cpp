#include "analyzer/findings/stores.h"

#include <doctest/doctest.h>

#include <string>

using doctest::Approx;
using stallscope::OpCall;
using stallscope::ParseOp;
using stallscope::findings::ShareFrom;

namespace {

std::vector<OpCall> Calls(const std::vector<std::string>& texts) {
  std::vector<OpCall> calls;
  for (const std::string& text : texts) calls.push_back(ParseOp(text).value());
  return calls;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("ops of known cost: exact shares") {
    CHECK(ShareFrom(Calls({"busy(300)", "sleep(100)"}), 1) == Approx(0.25));
    CHECK(ShareFrom(Calls({"busy(300)", "sleep(6400, every=64)"}), 1) == Approx(0.25));
    CHECK(ShareFrom(Calls({"busy(300)", "busy(100)"}), 0) == Approx(1));
    CHECK(ShareFrom(Calls({"busy(300)", "busy(100)"}), 2) == 0);
    CHECK(ShareFrom({}, 0) == 0);
  }

  TEST_CASE("decoding dominates a photograph's ops") {
    const double behind =
        ShareFrom(Calls({"decode_jpeg", "random_resized_crop(224)", "flip", "normalize"}), 1);
    CHECK(behind > 0.1);
    CHECK(behind < 0.3);
  }
}
