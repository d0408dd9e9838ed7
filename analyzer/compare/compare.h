// Base against new, one or more runs per side. Any thread. The answer depends on the runs alone:
// the resampling has a fixed seed. METHOD.md has the statistics, with a worked example.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/attribution/attribution.h"
#include "analyzer/model/run.h"
#include "analyzer/spec/patch.h"

namespace stallscope::compare {

enum class Answer : uint8_t { kFaster, kSlower, kNoRealChange, kInconclusive };
std::string_view WordFor(Answer answer);  // "faster", "slower", "no real change", "inconclusive"

// The part of a run that is compared.
struct RunSummary {
  std::string trace;
  std::string name;
  std::optional<double> samples_per_s;
  std::vector<double> step_ms;                                  // the counted steps, in order
  std::vector<uint32_t> samples;                                // of each
  attribution::PerCategory<std::optional<double>> ms_per_step;  // means
  struct Op {
    std::string name;
    double ms_per_call = 0;  // without the ops inside it
    bool operator==(const Op&) const = default;
  };
  struct Stage {
    std::string name;
    std::optional<double> service_ms;  // mean; nothing if its work was not recorded
    std::optional<double> busy_ms_per_step;
    std::optional<double> capacity_samples_per_s;
    std::vector<Op> ops;  // the largest, largest first
    bool operator==(const Stage&) const = default;
  };
  std::vector<Stage> stages;
  std::string spec_json;
  std::vector<SetChange> settings;  // of a job's loaders: loader.num_workers, 2
  std::string digest;
  bool complete = true;
  double cores_allowed = 0;  // by affinity and quota; 0 where unknown
  double others = 0;         // of all cores' time, what other programs had
  std::string host;
  std::string device_kind;
  std::string device_name;
};
RunSummary Summarise(const model::Run& run, const attribution::Attribution& attribution);

// A side's value is the geometric mean over its runs (the mean if one of them is 0); `ratio` is
// new / base.
struct Change {
  double base = 0;
  double now = 0;
  double ratio = 1;  // 0 if base is 0 and new is not: undefined
  double low = 1;    // 95%; the ratio again if `bounded` is false
  double high = 1;
  bool bounded = false;
  bool HasRatio() const { return base > 0 || now == 0; }
};

struct OpChange {
  std::string name;
  std::optional<Change> ms_per_call;  // empty if a side has no such op
};

struct StageChange {
  std::string name;
  std::optional<Change> service_ms;  // empty if a side has no such stage
  std::optional<Change> busy_ms_per_step;
  std::optional<Change> capacity_samples_per_s;
  std::vector<OpChange> ops;  // the base's in order, then new ones
};

struct Comparison {
  size_t base_runs = 0;
  size_t new_runs = 0;
  Answer answer = Answer::kInconclusive;
  std::string text;    // "7.9% faster (6.1 to 9.8%), from 5 runs per side, Mann-Whitney p = 0.008"
  std::string method;  // "mann-whitney", "block bootstrap", "same runs" or "none"
  std::optional<double> p_value;     // of the test on runs
  std::optional<Change> throughput;  // samples per second
  std::optional<Change> step_mean_ms;
  std::optional<Change> step_p50_ms;
  std::optional<Change> step_p95_ms;
  std::optional<Change> step_p99_ms;
  attribution::PerCategory<std::optional<Change>> ms_per_step;
  std::vector<StageChange> stages;  // the base's in order, then new ones
  // Of the spec, or of the settings of a job's loaders; nothing if a side has none, or several.
  std::optional<Patch> spec_change;
  bool same_data = true;  // by digests, if both sides have one
  std::vector<std::string>
      warnings;  // other hosts, cores, devices, data, programs; lost data; odd runs
};

// Both sides need at least one run.
Comparison Compare(const std::vector<RunSummary>& base, const std::vector<RunSummary>& now);

}  // namespace stallscope::compare
