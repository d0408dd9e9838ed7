#include "tests/analyzer/compare/runs.h"

#include <cmath>

namespace stallscope::test {

double Simulation::Uniform() { return (static_cast<double>(random_.Next() >> 11) + 0.5) * 0x1p-53; }

double Simulation::Normal() {
  return std::sqrt(-2 * std::log(Uniform())) * std::cos(6.283185307179586 * Uniform());
}

double Simulation::LogRate(const Noise& noise, double factor) {
  double log_rate = std::log(factor) + noise.run * Normal();
  if (noise.slow_run_share > 0 && Uniform() < noise.slow_run_share) log_rate -= std::log(1.15);
  return log_rate;
}

compare::RunSummary Simulation::Run(size_t steps, const Noise& noise, double factor) {
  const double ms = 10 * std::exp(-LogRate(noise, factor));
  const double drift = noise.drift * Normal();
  const double innovation = std::sqrt(1 - noise.correlation * noise.correlation);
  double deviation = Normal();
  std::vector<double> step_ms;
  for (size_t i = 0; i < steps; ++i) {
    const double place = steps < 2 ? 0 : static_cast<double>(i) / static_cast<double>(steps - 1);
    double step = ms * std::exp(noise.step * deviation + drift * (place - 0.5));
    if (noise.slow_share > 0 && Uniform() < noise.slow_share) step *= 5;
    step_ms.push_back(step);
    deviation = noise.correlation * deviation + innovation * Normal();
  }
  return RunOf("run" + std::to_string(runs_++) + ".sst", step_ms);
}

std::vector<compare::RunSummary> Simulation::Side(size_t runs, size_t steps, const Noise& noise,
                                                  double factor) {
  std::vector<compare::RunSummary> side;
  for (size_t i = 0; i < runs; ++i) side.push_back(Run(steps, noise, factor));
  return side;
}

compare::RatedSides Simulation::Rates(size_t base, size_t now, const Noise& noise, double factor) {
  compare::RatedSides sides;
  for (size_t i = 0; i < base; ++i) sides.base.push_back({LogRate(noise, 1), {}});
  for (size_t i = 0; i < now; ++i) sides.now.push_back({LogRate(noise, factor), {}});
  return sides;
}

compare::RunSummary RunOf(const std::string& trace, const std::vector<double>& step_ms,
                          uint32_t samples) {
  compare::RunSummary run;
  run.trace = trace;
  run.step_ms = step_ms;
  run.samples.assign(step_ms.size(), samples);
  double ms = 0;
  for (double one : step_ms) ms += one;
  if (ms > 0 && samples > 0) {
    run.samples_per_s = 1000.0 * samples * static_cast<double>(step_ms.size()) / ms;
  }
  return run;
}

std::vector<compare::RunSummary> RunsOf(const std::string& name,
                                        const std::vector<double>& samples_per_s) {
  std::vector<compare::RunSummary> runs;
  for (double rate : samples_per_s) {
    compare::RunSummary& run = runs.emplace_back();
    run.trace = name + std::to_string(runs.size()) + ".sst";
    run.samples_per_s = rate;
  }
  return runs;
}

}  // namespace stallscope::test
