// Several configurations of one run side by side: a sweep as a reader sees it. Plain values, filled
// in by the room that owns the sweep. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/findings/finding.h"
#include "analyzer/report/document.h"

namespace stallscope::report {

struct SweepRate {
  double samples_per_s = 0;
  double low = 0;
  double high = 0;
};

struct SweepRow {
  std::string name;                 // "decode.parallelism=4", "map-parallelism in decode"
  std::vector<std::string> values;  // one per axis; empty for a row outside the grid
  std::optional<SweepRate> predicted;
  std::optional<SweepRate> measured;
  std::optional<findings::Measurement> gain;  // over the base; nothing for the base itself
  std::optional<uint64_t> memory_bytes;
  std::string verdict;
  std::string note;  // why a figure is missing or doubtful
  bool failed = false;
};

struct SweepAxis {
  std::string path;
  std::vector<std::string> values;
};

// Errors are |predicted / measured - 1|.
struct SweepAccuracy {
  size_t points = 0;
  std::optional<double> median;
  std::optional<double> p95;
  std::optional<double> covered;
  std::optional<double> median_half_width;
  std::optional<double> best_within;
};

struct SweepTable {
  std::string title;  // the run's name
  std::string trace;  // as given
  std::string what;   // "grid", "verify", "tune"
  bool emulated = false;
  bool complete = true;
  unsigned repeats = 1;
  std::string counted = "samples";  // what rates count: "steps" if the samples are unknown
  std::vector<SweepAxis> axes;
  size_t base = 0;  // the row that gains are measured against
  std::vector<SweepRow> rows;
  SweepAccuracy accuracy;
  std::vector<std::string> warnings;
};

// What ranks a row: its measured rate, else the predicted one; nothing for a row that failed.
std::optional<double> RateOf(const SweepRow& row);
// Of the rows that are hardly slower than the fastest, the one that needs the least memory, else
// the first.
std::optional<size_t> BestRow(const SweepTable& table);
// The rows that no other row beats in throughput without using more memory, sorted by memory.
std::vector<size_t> ParetoFront(const SweepTable& table);

// The most rows that each form shows.
constexpr size_t kMostTextRows = 60;
constexpr size_t kMostMarkdownRows = 100;
constexpr size_t kMostPageRows = 2'000;
// If there are more than `most_rows`, it has only the fastest ones and the base.
Document DocumentOf(const SweepTable& table, size_t most_rows = kMostTextRows);

}  // namespace stallscope::report
