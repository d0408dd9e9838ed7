// A sweep: replays of one run over several configurations, each predicted, measured or both. Plain
// data; sweep_json.h writes it, sweep_file.h keeps it safe on disk, sweep_table.h reports it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/attribution/attribution.h"
#include "analyzer/base/result.h"
#include "analyzer/spec/patch.h"
#include "analyzer/spec/spec.h"
#include "replay/sweep/grid.h"

namespace stallscope::replay {

// A prediction's interval is 90% for the mean of one new run, a measurement's is 95%.
struct Rate {
  double samples_per_s = 0;
  double low = 0;
  double high = 0;
  bool operator==(const Rate&) const = default;
};

// One run of one configuration.
struct RunFigure {
  Rate rate;
  uint64_t steps = 0;
  uint64_t memory_bytes = 0;  // its peak; 0: not known
  std::string host;
  double others = 0;  // share of its cores that other programs had
  // Share of its reads that came from the disk; 0 if a cold page cache was requested.
  double from_disk = 0;
  // What it put into a store that later runs read, and how long that took; 0: nothing.
  uint64_t stored_samples = 0;
  double stored_s = 0;
  bool operator==(const RunFigure&) const = default;
};

// A configuration and its results. It has at most one of `set` and `patch`; with neither it is the
// recorded run's own.
struct Point {
  std::vector<Setting> set;
  std::optional<Patch> patch;
  std::string name;  // where the changes do not show it: "map-parallelism in decode"
  int cores = 0;     // that it may use; 0: all
  std::optional<Rate> predicted;
  std::string unpriced;  // why it is not predicted
  bool probed = false;   // a short run was made to predict it, or showed that it cannot be
  std::optional<uint64_t> predicted_memory_bytes;
  // The run that filled the stores in files which the others read; not one of `runs`.
  std::optional<RunFigure> filled;
  std::vector<RunFigure> runs;
  std::string digest;   // of one of the runs
  std::string verdict;  // of the last one
  std::string error;    // why it is not measured, or not to be trusted
  bool operator==(const Point&) const = default;
};

enum class SweepKind : uint8_t { kGrid, kVerify, kTune };
enum class SweepMode : uint8_t { kBoth, kSimulate, kRerun };
std::string_view WordFor(SweepKind kind);  // "grid", "verify", "tune"
std::string_view WordFor(SweepMode mode);  // "both", "simulate", "rerun"
std::optional<SweepKind> SweepKindOf(std::string_view word);
std::optional<SweepMode> SweepModeOf(std::string_view word);

struct Sweep {
  std::string trace;        // as it was given
  std::string name;         // the run's
  int64_t recorded_ns = 0;  // when, since 1970; of a spec without a run 0
  std::string spec_json;    // that the changes are made to
  SweepKind kind = SweepKind::kGrid;
  SweepMode mode = SweepMode::kBoth;
  bool emulated = false;
  bool first_epoch = false;  // predictions and figures cover each run's first epoch
  unsigned repeats = 1;
  // Of an imported run that does not say how many samples a step has: each counts as one, and rates
  // are in steps per second.
  bool counts_steps = false;
  std::string job;  // that works on it; sweep_file.h
  std::vector<Axis> axes;
  // The recorded configuration, replayed like the others: gains are relative to it. Where a point
  // equals it, that point is the base and `base` stays empty.
  std::optional<size_t> base_point;
  Point base;
  std::vector<Point> points;
  std::vector<std::string> warnings;
};

// The configurations of a sweep under one index: the points, then the base unless it is a point.
size_t Configurations(const Sweep& sweep);
Point& ConfigurationAt(Sweep& sweep, size_t index);
const Point& ConfigurationAt(const Sweep& sweep, size_t index);
const Point& BaseOf(const Sweep& sweep);

// The changed spec, valid.
Result<Spec> SpecOf(const Spec& spec, const Point& point);

bool NeedsPrediction(const Sweep& sweep, const Point& point);
bool NeedsProbe(const Sweep& sweep, const Point& point);
bool NeedsRun(const Sweep& sweep, const Point& point);
bool IsComplete(const Sweep& sweep);

// The mean of the runs. The interval is Student's t for five runs or more; with fewer it is the
// runs' own, from their steps, and never narrower than the spread of the runs. Empty without a run.
std::optional<Rate> Measured(const Point& point);
// How much faster the fastest of its runs is than the slowest: 0.1 where one is 10% faster.
double SpreadOf(const Point& point);
// Replays of one configuration that differ by more than this were disturbed: repeats of a steady
// run on an idle machine stay within a few percent.
constexpr double kSteady = 0.10;
using attribution::kOthersDisturb;
// A run that read this share from the disk began cold, unless a repeat of it does the same.
constexpr double kColdShare = 0.10;
// The most that other programs had of the cores in one of its runs.
double OthersIn(const Point& point);
// The largest of the runs' peaks, else the predicted one.
std::optional<uint64_t> MemoryOf(const Point& point);

// "decode.parallelism=4 prefetch.buffer_size=2", the patch's changes, or "as recorded".
std::string NameOf(const Point& point);

// How close the predictions came to the measurements. Errors are |predicted / measured - 1|.
// Nothing where no point has both.
struct PredictionErrors {
  size_t points = 0;  // that have both figures
  std::optional<double> median;
  std::optional<double> p95;
  std::optional<double> covered;            // share whose interval holds the measurement
  std::optional<double> median_half_width;  // of the intervals, relative
  // How far the predicted best point falls short of the measured best; 0 where they are the same.
  std::optional<double> best_within;
  size_t unpriced = 0;
  size_t failed = 0;
};

PredictionErrors ErrorsOf(const Sweep& sweep);

}  // namespace stallscope::replay
