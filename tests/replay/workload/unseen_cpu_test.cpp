#include "replay/workload/unseen_cpu.h"

#include <doctest/doctest.h>

#include <vector>

using stallscope::replay::CpuSamples;
using stallscope::replay::RecordedWork;
using stallscope::replay::UnseenCpu;

namespace {

// Twenty steps of 10, of which 4 are on a core, and its clock in the middle of each pause.
const std::vector<RecordedWork> kSteps = [] {
  std::vector<RecordedWork> steps;
  for (int64_t i = 0; i < 20; ++i) steps.push_back({i * 20, i * 20 + 10, 4, true});
  return steps;
}();

CpuSamples Clock(double per_step) {
  CpuSamples samples;
  for (int64_t i = 0; i < 20; ++i) {
    samples.emplace_back(i * 20 - 5, static_cast<double>(i) * per_step);
  }
  return samples;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("unseen CPU: what the clock has more than the recorded work, for each batch") {
    UnseenCpu unseen;
    unseen.Add(kSteps, Clock(7), {0, 1000}, {});
    CHECK(unseen.PerBatch() == doctest::Approx(3));
    UnseenCpu none;
    none.Add(kSteps, Clock(3), {0, 1000}, {});  // clocks differ: never less than nothing
    CHECK(none.PerBatch() == 0);
  }

  TEST_CASE("unseen CPU: pieces that touch what is left out do not count") {
    CpuSamples samples = Clock(7);
    for (size_t i = 10; i < samples.size(); ++i) samples[i].second += 500;  // starting workers
    UnseenCpu unseen;
    unseen.Add(kSteps, samples, {0, 1000}, {{182, 184}});
    CHECK(unseen.PerBatch() == doctest::Approx(3));
    UnseenCpu with;
    with.Add(kSteps, samples, {0, 1000}, {});
    CHECK(with.PerBatch() > 20);
  }

  TEST_CASE("unseen CPU: too few batches in the window show nothing") {
    UnseenCpu unseen;
    unseen.Add(kSteps, Clock(7), {0, 150}, {});
    CHECK(unseen.PerBatch() == 0);
    unseen.Add(kSteps, Clock(7), {150, 400}, {});  // together they are enough
    CHECK(unseen.PerBatch() == doctest::Approx(3));
    UnseenCpu nobody;
    nobody.Add({}, Clock(7), {0, 1000}, {});
    CHECK(nobody.PerBatch() == 0);
  }
}
