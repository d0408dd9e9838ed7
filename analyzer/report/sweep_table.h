// Several configurations of one run side by side: what a sweep is to a reader. Plain values and
// words, made by whoever has the sweep; the writers below write it. Any thread.
#ifndef STALLSCOPE_ANALYZER_REPORT_SWEEP_TABLE_H_
#define STALLSCOPE_ANALYZER_REPORT_SWEEP_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/report/text.h"

namespace stallscope::report {

struct SweepRate {
  double samples_per_s = 0;
  double low = 0;
  double high = 0;
};

struct SweepRow {
  std::string name;                 // "decode.parallelism=4", "map-parallelism in decode"
  std::vector<std::string> values;  // one for each axis; empty for a row that is in no grid
  std::optional<SweepRate> predicted;
  std::optional<SweepRate> measured;
  std::optional<uint64_t> memory_bytes;
  std::string verdict;
  std::string note;  // why a figure is missing, or not to be trusted
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
  std::string trace;  // as it was given
  std::string what;   // "grid", "verify", "tune"
  bool emulated = false;
  bool complete = true;
  unsigned repeats = 1;
  std::string counted = "samples";  // what rates count: "steps" where nobody knows their samples
  std::vector<SweepAxis> axes;
  size_t base = 0;  // the row that gains are measured against
  std::vector<SweepRow> rows;
  SweepAccuracy accuracy;
  std::vector<std::string> warnings;
};

// What a row is ranked by: measured, else predicted; nothing for a row that failed.
std::optional<double> RateOf(const SweepRow& row);
// The fastest row.
std::optional<size_t> BestRow(const SweepTable& table);
// The rows that no other one beats in throughput without more memory, by memory.
std::vector<size_t> ParetoFront(const SweepTable& table);

// At most kTextWidth columns. Rows beyond `most_rows` are counted, the fastest ones are shown.
std::string WriteText(const SweepTable& table, const TextOptions& options = {},
                      size_t most_rows = 60);
std::string WriteMarkdown(const SweepTable& table);
// One file, no script, no network: table, a heat map for each two knobs, the Pareto front, and what
// was predicted against what was measured.
std::string WriteHtml(const SweepTable& table);

}  // namespace stallscope::report

#endif  // STALLSCOPE_ANALYZER_REPORT_SWEEP_TABLE_H_
