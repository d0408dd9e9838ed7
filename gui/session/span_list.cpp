// Filters the rows of a SpanTable and sums them up.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "analyzer/attribution/histogram.h"
#include "analyzer/base/thread.h"
#include "gui/session/span_filter.h"
#include "gui/session/span_order.h"
#include "gui/session/span_table.h"

namespace stallscope::session {
namespace {

constexpr size_t kPiece = size_t{1} << 16;  // rows that a thread takes at a time
constexpr size_t kBins = 64;

size_t PiecesOf(size_t rows) { return (rows + kPiece - 1) / kPiece; }

// What the text of a filter says of the spans of one track, class by class; asked once each.
class ClassMemory {
 public:
  ClassMemory(const SpanTable& table, const SpanFilter& filter) : table_(table), filter_(filter) {}

  bool Matches(const SpanRow& row) {
    if (!filter_.has_text()) return true;
    if (row.ref.kind != IntervalKind::kSpan) return filter_.TextMatches(row);
    if (row.ref.track != track_) {
      track_ = row.ref.track;
      known_.assign(table_.run().span_classes.size(), kUnknown);
    }
    const model::Track& track = table_.run().tracks[track_.value];
    uint8_t& known = known_[track.spans.span_class[row.ref.index]];
    if (known == kUnknown) known = filter_.TextMatches(row) ? kYes : kNo;
    return known == kYes;
  }

 private:
  enum : uint8_t { kUnknown, kNo, kYes };
  const SpanTable& table_;
  const SpanFilter& filter_;
  TrackId track_;
  std::vector<uint8_t> known_;
};

Column<SpanRowNumber> Filtered(const SpanTable& table, const SpanFilter& filter,
                               const std::optional<Range>& range,
                               const std::atomic<bool>& cancelled, unsigned threads) {
  std::vector<std::vector<SpanRowNumber>> pieces(PiecesOf(table.size()));
  const bool all = !filter.has_text() && !filter.has_figures() && !range.has_value();
  ForEachParallel(pieces.size(), threads, [&](size_t piece) {
    if (cancelled || all) return;
    ClassMemory memory(table, filter);
    const size_t end = std::min(table.size(), (piece + 1) * kPiece);
    size_t near = 0;
    for (size_t i = piece * kPiece; i < end; ++i) {
      const SpanRow row = table.At(table.RefOf(static_cast<SpanRowNumber>(i), near));
      if (range.has_value() &&
          (row.start_ns >= range->end_ns || row.start_ns + row.duration_ns <= range->start_ns)) {
        continue;
      }
      if (!filter.FiguresMatch(row) || !memory.Matches(row)) continue;
      pieces[piece].push_back(static_cast<SpanRowNumber>(i));
    }
  });
  Column<SpanRowNumber> rows;
  if (all) {
    rows.resize(table.size());
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<SpanRowNumber>(i);
    return rows;
  }
  size_t count = 0;
  for (const auto& piece : pieces) count += piece.size();
  rows.reserve(count);
  for (const auto& piece : pieces) rows.insert(rows.end(), piece.begin(), piece.end());
  return rows;
}

// What is added up of one share of the rows.
struct Extremes {
  int64_t min = std::numeric_limits<int64_t>::max();
  int64_t max = std::numeric_limits<int64_t>::min();
  uint64_t sum = 0;  // that of a broken trace wraps around
  attribution::DurationHistogram durations;

  void Add(int64_t ns) {
    min = std::min(min, ns);
    max = std::max(max, ns);
    sum += static_cast<uint64_t>(ns);
    durations.Add(ns);
  }
  void Merge(const Extremes& other) {
    min = std::min(min, other.min);
    max = std::max(max, other.max);
    sum += other.sum;
    durations.Merge(other.durations);
  }
};

// Equal steps of the logarithm from the shortest to the longest.
class Bins {
 public:
  Bins(int64_t min, int64_t max) : low_(LogOf(min)) {
    step_ = std::max((LogOf(max) - low_) / static_cast<double>(kBins), 1e-9);
  }
  void Add(int64_t ns) {
    const double at = (LogOf(ns) - low_) / step_;
    ++counts_[static_cast<size_t>(std::clamp(at, 0.0, static_cast<double>(kBins - 1)))];
  }
  void AddTo(std::vector<uint64_t>& histogram) const {
    for (size_t i = 0; i < kBins; ++i) histogram[i] += counts_[i];
  }

 private:
  static double LogOf(int64_t ns) {
    return std::log(static_cast<double>(std::max<int64_t>(ns, 1)));
  }
  double low_;
  double step_;
  std::array<uint64_t, kBins> counts_{};
};

// Calls add(share, duration) for each row from `first` to before `last`; each share is one
// thread's.
template <class Add>
void ForEachDuration(const SpanTable& table, const Column<SpanRowNumber>& rows, size_t first,
                     size_t last, unsigned shares, Add&& add) {
  ForEachParallel(shares, shares, [&](size_t share) {
    const size_t end = first + (last - first) * (share + 1) / shares;
    size_t near = 0;
    for (size_t i = first + (last - first) * share / shares; i < end; ++i) {
      add(share, table.TimesOf(table.RefOf(rows[i], near)).duration_ns);
    }
  });
}

}  // namespace

DurationStatistics StatisticsOf(const SpanTable& table, const Column<SpanRowNumber>& rows,
                                size_t first, size_t last, unsigned threads) {
  DurationStatistics result;
  last = std::min(last, rows.size());
  if (first >= last) return result;
  const unsigned shares = last - first < kPiece ? 1 : std::max(threads, 1U);
  std::vector<Extremes> parts(shares);
  ForEachDuration(table, rows, first, last, shares,
                  [&](size_t share, int64_t ns) { parts[share].Add(ns); });
  Extremes all;
  for (const Extremes& part : parts) all.Merge(part);
  const attribution::Quantiles summary = all.durations.Summary();
  result.count = last - first;
  result.sum_ns = static_cast<int64_t>(all.sum);
  result.min_ns = all.min;
  result.max_ns = all.max;
  result.mean_ns = summary.mean;
  result.p50_ns = summary.p50;
  result.p95_ns = summary.p95;
  result.p99_ns = summary.p99;
  std::vector<Bins> bins(shares, Bins(all.min, all.max));
  ForEachDuration(table, rows, first, last, shares,
                  [&](size_t share, int64_t ns) { bins[share].Add(ns); });
  result.histogram.resize(kBins);
  for (const Bins& part : bins) part.AddTo(result.histogram);
  return result;
}

Result<SpanList> ListSpans(const SpanTable& table, const SpanQuery& query,
                           const std::atomic<bool>& cancelled, unsigned threads) {
  STALLSCOPE_ASSIGN_OR_RETURN(const SpanFilter filter,
                              SpanFilter::Parse(query.filter, table.run()));
  SpanList list;
  list.query = query;
  list.rows = Filtered(table, filter, query.range, cancelled, threads);
  // Before they are sorted: as they stand now they lie side by side in memory.
  if (!cancelled) list.statistics = StatisticsOf(table, list.rows, 0, list.rows.size(), threads);
  SortRows(table, query.sort, query.descending, cancelled, threads, list.rows);
  if (cancelled) {
    list.rows.clear();
    list.statistics = {};
  }
  return list;
}

}  // namespace stallscope::session
