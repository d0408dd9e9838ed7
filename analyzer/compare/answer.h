// Which of the four answers, and on what evidence. METHOD.md gives the reasons for the rules.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/compare/compare.h"
#include "analyzer/compare/rates.h"
#include "analyzer/compare/run_interval.h"
#include "analyzer/compare/step_interval.h"

namespace stallscope::compare {

// A side with fewer runs is judged by its steps.
constexpr size_t kRunsForTest = 5;
// The smallest effect worth naming: ratios from 1 - this to 1 + this are no real change.
constexpr double kSmallestEffect = 0.02;
// Above this level the rank test vetoes a change.
constexpr double kRankLevel = 0.10;

enum class Basis { kSameRuns, kRuns, kSteps, kNothing };

struct Evidence {
  Answer answer = Answer::kInconclusive;
  Basis basis = Basis::kNothing;
  std::optional<LogChange> rate;
  std::optional<double> p_value;
  size_t base_runs = 0;  // used for the answer
  size_t now_runs = 0;
  // With Basis::kSteps: the steps of those runs.
  std::vector<StepSeries> base_steps;
  std::vector<StepSeries> now_steps;
  std::array<Reach, kStatistics> reach{};
};

// `same_runs`: the sides hold the same recordings.
Evidence FindAnswer(const RatedSides& sides, bool same_runs);

// "mann-whitney", "block bootstrap", "same runs", "none"
std::string_view WordFor(Basis basis);
// The answer in one line: what changed, by how much, and how we know.
std::string TextOf(const Evidence& evidence);

Answer AnswerFromRuns(const LogChange& rate, double p_value);
Answer AnswerFromSteps(const LogChange& rate);

}  // namespace stallscope::compare
