// How often the answer is wrong, by runs whose truth is known. METHOD.md has the tables.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <initializer_list>

#include "analyzer/base/file.h"
#include "analyzer/compare/answer.h"
#include "tests/analyzer/compare/runs.h"
#include "tests/support/paths.h"

using namespace stallscope;
using compare::Answer;
using test::Noise;
using test::Simulation;

namespace {

struct Rates {
  double faster = 0;  // in 100 sets
  double slower = 0;
  double none = 0;
  double inconclusive = 0;
  double wrong() const { return faster + slower; }  // where nothing changed
};

class Counter {
 public:
  void Add(Answer answer) { ++counts_[static_cast<size_t>(answer)]; }
  Rates Percent() const {
    const double sets = static_cast<double>(counts_[0] + counts_[1] + counts_[2] + counts_[3]);
    return {100.0 * static_cast<double>(counts_[0]) / sets,
            100.0 * static_cast<double>(counts_[1]) / sets,
            100.0 * static_cast<double>(counts_[2]) / sets,
            100.0 * static_cast<double>(counts_[3]) / sets};
  }

 private:
  std::array<size_t, 4> counts_{};
};

constexpr uint64_t kSeed = 2024;

Rates ByRuns(const Noise& noise, double factor, size_t runs = 5, int sets = 4000) {
  Simulation simulation(kSeed);
  Counter counter;
  for (int i = 0; i < sets; ++i) {
    counter.Add(FindAnswer(simulation.Rates(runs, runs, noise, factor), false).answer);
  }
  return counter.Percent();
}

Rates BySteps(size_t runs, size_t steps, const Noise& noise, double factor, int sets = 200) {
  Simulation simulation(kSeed);
  Counter counter;
  for (int i = 0; i < sets; ++i) {
    const auto base = simulation.Side(runs, steps, noise);
    const auto now = simulation.Side(runs, steps, noise, factor);
    counter.Add(FindAnswer(compare::RateSides(base, now), false).answer);
  }
  return counter.Percent();
}

std::string Row(std::string text, std::initializer_list<double> figures) {
  for (double figure : figures) {
    char cell[32];
    std::snprintf(cell, sizeof cell, " | %.1f", figure);
    text += cell;
  }
  return "| " + text + " |\n";
}

void CheckPageHas(const std::string& table) {
  const auto page = ReadWholeFile(test::SourceDir() + "/analyzer/compare/METHOD.md", 1 << 20);
  REQUIRE(page.ok());
  const bool there = page.value().find('\n' + table + '\n') != std::string::npos;
  CHECK_MESSAGE(there, "put this into analyzer/compare/METHOD.md:\n" << table);
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("five runs per side: A/A and a true 5%, by how much runs vary") {
    std::string table;
    for (const double percent : {0.5, 1.0, 1.5, 1.8, 2.0, 3.0, 5.0, 10.0}) {
      const Noise noise{.run = percent / 100};
      const Rates none = ByRuns(noise, 1);
      const Rates up = ByRuns(noise, 1.05);
      const Rates down = ByRuns(noise, 0.95);
      CAPTURE(percent);
      CHECK(none.wrong() <= 5.5);  // 5 and what 4000 sets deviate
      if (percent <= 1.8) CHECK(up.faster >= 95);
      if (percent <= 1.8) CHECK(down.slower >= 95);
      CHECK(up.slower < 1);
      char name[32];
      std::snprintf(name, sizeof name, "%g%%", percent);
      table += Row(name, {none.wrong(), none.none, up.faster, down.slower});
    }
    CheckPageHas(table);
  }

  TEST_CASE("five runs per side, none of them more than 2% off") {
    Simulation simulation(kSeed);
    Counter none, up;
    for (int i = 0; i < 4000; ++i) {
      for (const double change : {0.0, 0.05}) {
        compare::RatedSides sides;
        for (int run = 0; run < 5; ++run) {
          sides.base.push_back({std::log(1 + 0.02 * (2 * simulation.Uniform() - 1)), {}});
          sides.now.push_back(
              {std::log((1 + change) * (1 + 0.02 * (2 * simulation.Uniform() - 1))), {}});
        }
        (change == 0 ? none : up).Add(FindAnswer(sides, false).answer);
      }
    }
    CHECK(none.Percent().wrong() <= 2);
    CHECK(up.Percent().faster >= 99);
  }

  TEST_CASE("the rules that were rejected find too little where runs vary by 2%") {
    Simulation simulation(kSeed);
    int by_ranks = 0, beyond = 0;
    for (int i = 0; i < 4000; ++i) {
      const auto found = FindAnswer(simulation.Rates(5, 5, {.run = 0.02}, 1.05), false);
      const double least = std::log(1.02);
      by_ranks += *found.p_value <= 0.05 && found.rate->at >= least ? 1 : 0;
      beyond += found.rate->low >= least ? 1 : 0;
    }
    CHECK(by_ranks / 40.0 == doctest::Approx(84).epsilon(0.02));
    CHECK(beyond / 40.0 == doctest::Approx(53).epsilon(0.05));
  }

  TEST_CASE("one run in ten is far too slow: fewer changes found, no more wrong ones") {
    const Noise noise{.run = 0.01, .slow_run_share = 0.1};
    CHECK(ByRuns(noise, 1).wrong() <= 5);
    CHECK(ByRuns(noise, 1.05).slower <= 1);
  }

  TEST_CASE("more runs, or more on one side, are wrong no more often") {
    CHECK(ByRuns({.run = 0.05}, 1, 8, 2000).wrong() <= 6);
    CHECK(ByRuns({.run = 0.05}, 1, 25, 1000).wrong() <= 7);
    CHECK(ByRuns({.run = 0.02}, 1.05, 8, 1000).faster >= 99);
    Simulation simulation(kSeed);
    Counter uneven;
    for (int i = 0; i < 2000; ++i) {
      uneven.Add(FindAnswer(simulation.Rates(5, 12, {.run = 0.05}), false).answer);
    }
    CHECK(uneven.Percent().wrong() <= 6);
  }

  TEST_CASE("fewer runs: A/A and a true 10%, by what varies") {
    struct Case {
      const char* name;
      size_t runs;
      size_t steps;
      Noise noise;
    };
    const Case cases[] = {
        {"1 run, steps by 5%", 1, 200, {.step = 0.05}},
        {"1 run, steps by 10%, each like the one before it (0.9)",
         1,
         200,
         {.step = 0.1, .correlation = 0.9}},
        {"1 run, 2% of the steps five times as long", 1, 200, {.step = 0.05, .slow_share = 0.02}},
        {"1 run, steps by 5%, a drift of 5%", 1, 200, {.step = 0.05, .drift = 0.05}},
        {"1 run of 10 steps, by 5%", 1, 10, {.step = 0.05}},
        {"1 run, steps by 5%, runs by 1%", 1, 200, {.run = 0.01, .step = 0.05}},
        {"1 run, steps by 5%, runs by 2%", 1, 200, {.run = 0.02, .step = 0.05}},
        {"3 runs, steps by 5%, runs by 2%", 3, 200, {.run = 0.02, .step = 0.05}},
    };
    std::string table;
    for (const Case& one : cases) {
      CAPTURE(one.name);
      const Rates none = BySteps(one.runs, one.steps, one.noise, 1);
      const Rates up = BySteps(one.runs, one.steps, one.noise, 1.10);
      // Hidden run-to-run noise cannot be seen in one run.
      CHECK(none.wrong() <= (one.runs == 1 && one.noise.run > 0.01 ? 25 : 5));
      CHECK(up.slower == 0);
      table += Row(one.name, {none.wrong(), none.none, up.faster, up.inconclusive});
    }
    CheckPageHas(table);
  }
}
