#include "analyzer/findings/findings.h"

#include <doctest/doctest.h>

#include <string>

using stallscope::findings::Aim;
using stallscope::findings::Gain;
using stallscope::findings::Recommendation;
using stallscope::findings::WorthShowing;

namespace {

Recommendation Of(double predicted, double low, double high) {
  Recommendation recommendation;
  recommendation.gain = Gain{predicted, low, high};
  return recommendation;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("speed-up is shown only if its gain is certain") {
    Recommendation sure = Of(1.3, 1.1, 1.5);
    CHECK(WorthShowing(sure, 0.5, 20));
    CHECK(sure.gain.has_value());
    Recommendation none = Of(1.05, 0.95, 1.15);
    CHECK_FALSE(WorthShowing(none, 0.5, 20));
    Recommendation slower = Of(0.8, 0.7, 0.9);
    CHECK_FALSE(WorthShowing(slower, 0.5, 20));
    Recommendation memory = Of(0.99, 0.9, 1.1);
    memory.aim = Aim::kMemory;
    CHECK(WorthShowing(memory, 0.5, 20));
    CHECK(memory.gain.has_value());
  }

  TEST_CASE("large but uncertain gain of a short run: shown without a figure") {
    Recommendation open = Of(2.8, 0.9, 4.1);
    CHECK(WorthShowing(open, 0.65, 19));
    CHECK_FALSE(open.gain.has_value());
    CHECK(open.unpriced.find("19 steps") != std::string::npos);
    CHECK(open.unpriced.find("record") != std::string::npos);
    Recommendation scattered = Of(2.8, -0.6, 4.1);
    CHECK(WorthShowing(scattered, 0.65, 3));
    CHECK(scattered.unpriced.find("from 0.00 to 4.10") != std::string::npos);
    // A long run has told; little is at stake; the gain is small anyhow.
    Recommendation told = Of(2.8, 0.9, 4.1);
    CHECK_FALSE(WorthShowing(told, 0.65, 1'000));
    CHECK_FALSE(WorthShowing(told, 0.1, 19));
    Recommendation small = Of(1.06, 0.9, 4.1);
    CHECK_FALSE(WorthShowing(small, 0.65, 19));
  }
}
