#include "gui/session/span_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "analyzer/attribution/histogram.h"
#include "analyzer/base/thread.h"
#include "analyzer/export/words.h"
#include "gui/session/span_filter.h"
#include "gui/session/span_order.h"

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

std::string_view WordFor(SpanColumn column) {
  constexpr std::array<std::string_view, kSpanColumns> kWords = {
      "start", "duration", "track", "kind", "name", "cause", "item", "bytes"};
  return kWords[static_cast<size_t>(column)];
}

SpanTable::SpanTable(std::shared_ptr<const model::Run> run) : run_(std::move(run)) {
  uint64_t row = 0;
  for (const model::Track& track : run_->tracks) {
    first_rows_.push_back(row);
    row += track.spans.size();
  }
  first_rows_.push_back(row);
  row += run_->rows.copies.size();
  first_rows_.push_back(row);
  row += run_->rows.kernels.size();
  first_rows_.push_back(row);
  size_ = row;
}

IntervalRef SpanTable::RefOf(SpanRowNumber row) const {
  size_t table = 0;
  return RefOf(row, table);
}

IntervalRef SpanTable::RefOf(SpanRowNumber row, size_t& near) const {
  if (row < first_rows_[near] || row >= first_rows_[near + 1]) {
    const auto after = std::upper_bound(first_rows_.begin(), first_rows_.end(), row);
    near = static_cast<size_t>(after - first_rows_.begin()) - 1;
  }
  const size_t table = near;
  const uint64_t index = row - first_rows_[table];
  if (table < run_->tracks.size()) {
    return {IntervalKind::kSpan, TrackId{static_cast<uint32_t>(table)}, index};
  }
  if (table == run_->tracks.size()) {
    return {IntervalKind::kCopy, run_->rows.copies[index].track, index};
  }
  return {IntervalKind::kKernel, run_->rows.kernels[index].track, index};
}

std::optional<SpanRowNumber> SpanTable::RowOf(const IntervalRef& ref) const {
  size_t table = run_->tracks.size() + (ref.kind == IntervalKind::kKernel ? 1 : 0);
  if (ref.kind == IntervalKind::kSpan) {
    if (!ref.track.known() || ref.track.value >= run_->tracks.size()) return std::nullopt;
    table = ref.track.value;
  }
  const uint64_t row = first_rows_[table] + ref.index;
  if (row >= first_rows_[table + 1]) return std::nullopt;
  return static_cast<SpanRowNumber>(row);
}

SpanRow SpanTable::At(SpanRowNumber row) const { return At(RefOf(row)); }

SpanTable::Times SpanTable::TimesOf(const IntervalRef& ref) const {
  if (ref.kind == IntervalKind::kSpan) {
    const trace::SpanColumns& spans = run_->tracks[ref.track.value].spans;
    return {spans.start_ns[ref.index], spans.DurationNs(ref.index)};
  }
  if (ref.kind == IntervalKind::kCopy) {
    const trace::Copy& copy = run_->rows.copies[ref.index];
    return {copy.start_ns, copy.end_ns - copy.start_ns};
  }
  const trace::Kernel& kernel = run_->rows.kernels[ref.index];
  return {kernel.start_ns, kernel.end_ns - kernel.start_ns};
}

SpanRow SpanTable::At(const IntervalRef& ref) const {
  SpanRow row;
  row.ref = ref;
  row.track = run_->NameOf(ref.track);
  const Times times = TimesOf(ref);
  row.start_ns = times.start_ns;
  row.duration_ns = times.duration_ns;
  if (ref.kind == IntervalKind::kSpan) {
    const model::Track& track = run_->tracks[ref.track.value];
    const size_t i = ref.index;
    const trace::SpanClass& what = run_->ClassOf(track, i);
    row.stage = what.stage.known() ? what.stage : track.info.stage;
    const bool wait = what.kind == trace::SpanKind::kWait;
    row.kind = wait ? "wait" : "work";
    row.name = what.name.known() ? run_->Text(what.name) : run_->NameOf(row.stage);
    if (wait) row.cause = exporting::WordFor(what.cause);
    row.item = ItemId{track.spans.item[i]};
    row.bytes = track.spans.bytes.empty() ? 0 : track.spans.bytes[i];
  } else if (ref.kind == IntervalKind::kCopy) {
    const trace::Copy& copy = run_->rows.copies[ref.index];
    row.kind = "copy";
    row.name = exporting::WordFor(copy.direction);
    row.cause = exporting::WordFor(copy.memory);
    row.item = copy.batch;
    row.bytes = copy.bytes;
  } else {
    const trace::Kernel& kernel = run_->rows.kernels[ref.index];
    row.kind = "kernel";
    row.name = run_->Text(kernel.name);
    row.item = kernel.batch;
  }
  return row;
}

// --- Listing and summing up rows ---

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
