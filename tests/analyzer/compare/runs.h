// Runs whose truth is known, for the tests of this room.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/compare/compare.h"
#include "analyzer/compare/rates.h"
#include "tests/support/random.h"

namespace stallscope::test {

// How runs and their steps vary; all are standard deviations relative to the mean.
struct Noise {
  double run = 0;             // a factor that all steps of a run share
  double step = 0;            // of each step
  double correlation = 0;     // of a step with the one before it
  double drift = 0;           // from a run's start to its end, up or down
  double slow_share = 0;      // of the steps, that take five times as long
  double slow_run_share = 0;  // of the runs, that take 15 % longer
};

class Simulation {
 public:
  explicit Simulation(uint64_t seed) : random_(seed) {}

  double Uniform();  // between 0 and 1, never either
  double Normal();
  // `factor`: the true change of throughput.
  compare::RunSummary Run(size_t steps, const Noise& noise, double factor = 1);
  std::vector<compare::RunSummary> Side(size_t runs, size_t steps, const Noise& noise,
                                        double factor = 1);
  // Without steps, for what looks at runs alone.
  compare::RatedSides Rates(size_t base, size_t now, const Noise& noise, double factor = 1);

 private:
  double LogRate(const Noise& noise, double factor);

  Random random_;
  size_t runs_ = 0;
};

// Of 32 samples a step.
compare::RunSummary RunOf(const std::string& trace, const std::vector<double>& step_ms,
                          uint32_t samples = 32);
// Runs without steps, of these samples a second.
std::vector<compare::RunSummary> RunsOf(const std::string& name,
                                        const std::vector<double>& samples_per_s);

}  // namespace stallscope::test
