// Each rule of the answer with a case that fires and one that just does not.
#include "analyzer/compare/answer.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/analyzer/compare/runs.h"

using namespace stallscope;
using compare::Answer;
using compare::AnswerFromRuns;
using compare::AnswerFromSteps;
using compare::Basis;
using compare::FindAnswer;
using compare::LogChange;
using compare::RateSides;
using test::RunOf;
using test::RunsOf;

namespace {

LogChange Ratios(double at, double low, double high) {
  return {std::log(at), std::log(low), std::log(high)};
}

std::vector<double> Steps(size_t count, double ms, double swing) {
  std::vector<double> steps;
  for (size_t i = 0; i < count; ++i) steps.push_back(i % 2 == 0 ? ms * (1 + swing) : ms);
  return steps;
}

Answer OfSteps(const std::vector<double>& base, const std::vector<double>& now) {
  return FindAnswer(RateSides({RunOf("base", base)}, {RunOf("new", now)}), false).answer;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("by runs: the estimate reaches 2% and the interval excludes no change") {
    CHECK(AnswerFromRuns(Ratios(1.021, 1.001, 1.04), 0.01) == Answer::kFaster);
    CHECK(AnswerFromRuns(Ratios(1.019, 1.001, 1.04), 0.01) == Answer::kInconclusive);
    CHECK(AnswerFromRuns(Ratios(1.021, 0.999, 1.04), 0.01) == Answer::kInconclusive);
    CHECK(AnswerFromRuns(Ratios(0.979, 0.96, 0.999), 0.01) == Answer::kSlower);
    CHECK(AnswerFromRuns(Ratios(0.981, 0.96, 0.999), 0.01) == Answer::kInconclusive);
    CHECK(AnswerFromRuns(Ratios(0.979, 0.96, 1.001), 0.01) == Answer::kInconclusive);
  }

  TEST_CASE("by runs: the rank test can veto a change, not the lack of one") {
    CHECK(AnswerFromRuns(Ratios(1.05, 1.01, 1.09), 0.0952) == Answer::kFaster);
    CHECK(AnswerFromRuns(Ratios(1.05, 1.01, 1.09), 0.1508) == Answer::kInconclusive);
    CHECK(AnswerFromRuns(Ratios(1, 0.99, 1.01), 1) == Answer::kNoRealChange);
  }

  TEST_CASE("an interval inside 2% is no real change, by runs and by steps") {
    for (const auto answer : {AnswerFromRuns(Ratios(1.01, 0.981, 1.0199), 0.01),
                              AnswerFromSteps(Ratios(1.01, 0.981, 1.0199))}) {
      CHECK(answer == Answer::kNoRealChange);
    }
    for (const auto answer :
         {AnswerFromRuns(Ratios(1, 0.979, 1.01), 1), AnswerFromSteps(Ratios(1, 0.979, 1.01)),
          AnswerFromRuns(Ratios(1, 0.99, 1.021), 1), AnswerFromSteps(Ratios(1, 0.99, 1.021))}) {
      CHECK(answer == Answer::kInconclusive);
    }
  }

  TEST_CASE("by steps: the whole interval must be beyond 2%") {
    CHECK(AnswerFromSteps(Ratios(1.05, 1.021, 1.08)) == Answer::kFaster);
    CHECK(AnswerFromSteps(Ratios(1.05, 1.019, 1.08)) == Answer::kInconclusive);
    CHECK(AnswerFromSteps(Ratios(0.95, 0.92, 0.979)) == Answer::kSlower);
    CHECK(AnswerFromSteps(Ratios(0.95, 0.92, 0.981)) == Answer::kInconclusive);
  }

  TEST_CASE("five runs per side are tested as runs, fewer by their steps") {
    const auto five = RunsOf("a", {100, 101, 102, 103, 104});
    CHECK(FindAnswer(RateSides(five, five), false).basis == Basis::kRuns);
    const auto four = RunsOf("b", {100, 101, 102, 103});
    const auto by_nothing = FindAnswer(RateSides(five, four), false);
    CHECK(by_nothing.basis == Basis::kNothing);  // these have no steps
    CHECK(by_nothing.answer == Answer::kInconclusive);
    const auto one = RunOf("c", Steps(50, 10, 0.01));
    CHECK(FindAnswer(RateSides({one}, {one}), false).basis == Basis::kSteps);
  }

  TEST_CASE("steps that hardly vary") {
    CHECK(OfSteps(Steps(100, 10, 0.01), Steps(100, 10.02, 0.01)) == Answer::kNoRealChange);
    CHECK(OfSteps(Steps(100, 10, 0.01), Steps(100, 9.5, 0.01)) == Answer::kFaster);
    CHECK(OfSteps(Steps(100, 10, 0.01), Steps(100, 10.5, 0.01)) == Answer::kSlower);
    // Runs differ by what steps cannot show: 3 % is too close to 2 %.
    CHECK(OfSteps(Steps(100, 10, 0.01), Steps(100, 9.7, 0.01)) == Answer::kInconclusive);
    // Other numbers of steps are nothing to mind.
    CHECK(OfSteps(Steps(100, 10, 0.01), Steps(37, 9.5, 0.01)) == Answer::kFaster);
  }

  TEST_CASE("three steps are the fewest") {
    CHECK(OfSteps({10, 10, 10}, {5, 5, 5}) == Answer::kFaster);
    const auto two = FindAnswer(RateSides({RunOf("a", {10, 10, 10})}, {RunOf("b", {5, 5})}), false);
    CHECK(two.answer == Answer::kInconclusive);
    CHECK(two.base_runs == 1);
    CHECK(two.now_runs == 0);
    CHECK(OfSteps({10}, {5}) == Answer::kInconclusive);
    CHECK(OfSteps({}, {}) == Answer::kInconclusive);
  }

  TEST_CASE("zero times give no infinities") {
    CHECK(OfSteps({0, 0, 0}, {10, 10, 10}) == Answer::kInconclusive);
    const auto mixed = FindAnswer(
        RateSides({RunOf("a", {0, 0, 0, 0, 0, 12, 0, 0, 0, 0})}, {RunOf("b", Steps(10, 1, 0))}),
        false);
    REQUIRE(mixed.rate);
    CHECK(std::isfinite(mixed.rate->low));
    CHECK(std::isfinite(mixed.rate->high));
    CHECK(mixed.answer == Answer::kInconclusive);
  }

  TEST_CASE("runs that differ within a side widen the interval from their steps") {
    const std::vector<compare::RunSummary> now = {RunOf("n1", Steps(100, 9.3, 0.01)),
                                                  RunOf("n2", Steps(100, 9.31, 0.01))};
    const std::vector<compare::RunSummary> alike = {RunOf("b1", Steps(100, 10, 0.01)),
                                                    RunOf("b2", Steps(100, 10.01, 0.01))};
    const std::vector<compare::RunSummary> unlike = {RunOf("b1", Steps(100, 9.5, 0.01)),
                                                     RunOf("b2", Steps(100, 10.5, 0.01))};
    CHECK(FindAnswer(RateSides(alike, now), false).answer == Answer::kFaster);
    CHECK(FindAnswer(RateSides(unlike, now), false).answer == Answer::kInconclusive);
  }

  TEST_CASE("a run that drifts widens the interval") {
    std::vector<double> drifting;
    for (int i = 0; i < 100; ++i) drifting.push_back(9 + 0.02 * i);
    std::vector<double> mixed;  // the same times in another order
    for (int i = 0; i < 100; ++i) mixed.push_back(drifting[static_cast<size_t>(i * 37 % 100)]);
    CHECK(OfSteps(mixed, Steps(100, 9.2, 0.01)) == Answer::kFaster);
    CHECK(OfSteps(drifting, Steps(100, 9.2, 0.01)) == Answer::kInconclusive);
  }

  TEST_CASE("steps are counted if samples are unknown") {
    const auto sides = RateSides({RunOf("a", {10, 10, 10}, 0)}, {RunOf("b", {5, 5, 5}, 32)});
    CHECK(sides.by_steps);
    CHECK(std::exp(sides.base[0].log_rate) == doctest::Approx(100));
    const auto known = RateSides({RunOf("a", {10, 10, 10}, 16)}, {RunOf("b", {5, 5, 5}, 32)});
    CHECK_FALSE(known.by_steps);
    CHECK(std::exp(known.base[0].log_rate) == doctest::Approx(1600));
    // One run of several that does not know them is left out.
    const auto odd =
        RateSides({RunOf("a", {10, 10, 10}), RunOf("c", {10, 10, 10}, 0)}, {RunOf("b", {5, 5, 5})});
    CHECK_FALSE(odd.by_steps);
    CHECK(odd.base.size() == 1);
    CHECK(odd.left_out == std::vector<std::string>{"c"});
  }

  TEST_CASE("the resampling is the same with every compiler") {
    test::Simulation simulation(11);
    const auto base = simulation.Side(1, 60, {.step = 0.1, .correlation = 0.5});
    const auto now = simulation.Side(2, 40, {.step = 0.1});
    const auto rate = FindAnswer(RateSides(base, now), false).rate;
    REQUIRE(rate);
    CHECK(rate->low == doctest::Approx(-0.0814914960324598).epsilon(1e-9));
    CHECK(rate->high == doctest::Approx(0.0726696038727867).epsilon(1e-9));
  }
}
