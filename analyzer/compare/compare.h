// Base against new, one or several runs a side. Any thread; the answer depends on nothing but the
// runs: the resampling has a fixed seed.
#ifndef STALLSCOPE_ANALYZER_COMPARE_COMPARE_H_
#define STALLSCOPE_ANALYZER_COMPARE_COMPARE_H_

#include <optional>
#include <string>
#include <vector>

#include "analyzer/attribution/attribution.h"
#include "analyzer/spec/patch.h"

namespace stallscope::compare {

enum class Answer : uint8_t { kFaster, kSlower, kNoRealChange, kInconclusive };
std::string_view WordFor(Answer answer);  // "faster", "slower", "no real change", "inconclusive"

// What is compared of one run.
struct RunSummary {
  std::string trace;
  std::string name;
  std::optional<double> samples_per_s;
  std::vector<double> step_ms;                                  // the counted steps in their order
  std::vector<uint32_t> samples;                                // of each
  attribution::PerCategory<std::optional<double>> ms_per_step;  // means
  struct Stage {
    std::string name;
    double service_ms = 0;  // mean
    double busy_ms_per_step = 0;
    std::optional<double> capacity_samples_per_s;
  };
  std::vector<Stage> stages;
  std::string spec_json;
  std::string digest;
  bool complete = true;
  uint32_t cores_allowed = 0;
  std::string host;
  std::string device_kind;
};
RunSummary Summarise(const model::Run& run, const attribution::Attribution& attribution);

// A ratio new / base with its interval.
struct Change {
  double base = 0;
  double now = 0;
  double ratio = 1;
  double low = 1;
  double high = 1;
};

struct StageChange {
  std::string name;
  std::optional<Change> service_ms;  // empty where a side has no such stage
  std::optional<Change> busy_ms_per_step;
};

struct Comparison {
  size_t base_runs = 0;
  size_t new_runs = 0;
  Answer answer = Answer::kInconclusive;
  std::string text;               // "7.9 % faster (6.1 to 9.8 %), by 5 runs a side"
  std::string method;             // "mann-whitney" or "block bootstrap"
  std::optional<double> p_value;  // of the test on runs
  std::optional<Change> throughput;
  std::optional<Change> step_mean_ms;
  std::optional<Change> step_p50_ms;
  std::optional<Change> step_p95_ms;
  std::optional<Change> step_p99_ms;
  attribution::PerCategory<std::optional<Change>> ms_per_step;
  std::vector<StageChange> stages;
  std::optional<Patch> spec_change;   // nothing where a side has no spec, or sides differ inside
  bool same_data = true;              // digests, where both sides have one
  std::vector<std::string> warnings;  // other hosts, cores, devices; lost data
};

// Both sides need at least one run.
Comparison Compare(const std::vector<RunSummary>& base, const std::vector<RunSummary>& now);

}  // namespace stallscope::compare

#endif  // STALLSCOPE_ANALYZER_COMPARE_COMPARE_H_
