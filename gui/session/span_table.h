// Millions of intervals as the rows of one table: spans track by track, then copies, then kernels.
// Nothing is copied: a row is its number. Filtering and sorting make a list of rows, on a worker.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/base/column.h"
#include "analyzer/base/result.h"
#include "analyzer/model/run.h"
#include "gui/session/view.h"

namespace stallscope::session {

using SpanRowNumber = uint32_t;

// One row with its values. Views point into the run.
struct SpanRow {
  IntervalRef ref;
  std::string_view track;
  std::string_view kind;   // "work", "wait", "copy", "kernel"
  std::string_view name;   // the stage, the kernel, "h2d"
  std::string_view cause;  // of a wait: "empty", ...; of a copy its memory
  StageId stage;
  ItemId item;
  int64_t start_ns = 0;
  int64_t duration_ns = 0;
  uint64_t bytes = 0;
};

class SpanTable {
 public:
  explicit SpanTable(std::shared_ptr<const model::Run> run);

  size_t size() const { return size_; }
  IntervalRef RefOf(SpanRowNumber row) const;
  // The same for many rows: `near` is where the last one was found, 0 at first. Neighbors cost no
  // search.
  IntervalRef RefOf(SpanRowNumber row, size_t& near) const;
  // The row of an interval; nothing where the run has no such interval.
  std::optional<SpanRowNumber> RowOf(const IntervalRef& ref) const;
  SpanRow At(SpanRowNumber row) const;
  SpanRow At(const IntervalRef& ref) const;
  struct Times {
    int64_t start_ns = 0;
    int64_t duration_ns = 0;
  };
  Times TimesOf(const IntervalRef& ref) const;
  const model::Run& run() const { return *run_; }

 private:
  std::shared_ptr<const model::Run> run_;
  std::vector<uint64_t> first_rows_;  // by track, then copies, kernels and the end
  size_t size_ = 0;
};

enum class SpanColumn : uint8_t { kStart, kDuration, kTrack, kKind, kName, kCause, kItem, kBytes };
constexpr size_t kSpanColumns = 8;
std::string_view WordFor(SpanColumn column);

// A filter is words that must all hold; one is a text that track, name, kind or cause contains
// (case does not matter), or a comparison: duration>2ms, start<1.5s (since the run's start),
// bytes>=4096, item=17, stage=decode, kind=wait, cause=empty, track=..., and each with a leading
// '-' for not.
struct SpanQuery {
  std::string filter;
  SpanColumn sort = SpanColumn::kStart;
  bool descending = false;
  std::optional<Range> range;  // only what overlaps it
  bool operator==(const SpanQuery&) const = default;
};

// Of durations.
struct DurationStatistics {
  uint64_t count = 0;
  int64_t sum_ns = 0;
  int64_t min_ns = 0;
  int64_t max_ns = 0;
  double mean_ns = 0;
  double p50_ns = 0;
  double p95_ns = 0;
  double p99_ns = 0;
  // Equal steps of the logarithm from min to max; empty without rows.
  std::vector<uint64_t> histogram;
};

struct SpanList {
  SpanQuery query;
  Column<SpanRowNumber> rows;  // in the order of the query
  DurationStatistics statistics;
};

// kUsage where the filter makes no sense; the error says which word. Stops early, with an empty
// list, where `cancelled` becomes true.
Result<SpanList> ListSpans(const SpanTable& table, const SpanQuery& query,
                           const std::atomic<bool>& cancelled, unsigned threads = 2);

// Of some rows of a list: those from `first` to before `last`.
DurationStatistics StatisticsOf(const SpanTable& table, const Column<SpanRowNumber>& rows,
                                size_t first, size_t last, unsigned threads = 2);

}  // namespace stallscope::session
