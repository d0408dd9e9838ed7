// Filters, sorts and sums up the rows of a SpanTable.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "analyzer/attribution/histogram.h"
#include "analyzer/attribution/parallel.h"
#include "gui/session/span_filter.h"
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
  attribution::ForEachParallel(pieces.size(), threads, [&](size_t piece) {
    if (cancelled || all) return;
    ClassMemory memory(table, filter);
    const size_t end = std::min(table.size(), (piece + 1) * kPiece);
    for (size_t i = piece * kPiece; i < end; ++i) {
      const SpanRow row = table.At(static_cast<SpanRowNumber>(i));
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

// Texts by their place in the alphabet, so that rows are compared as numbers.
class TextRanks {
 public:
  TextRanks(const SpanTable& table, SpanColumn column) {
    if (column != SpanColumn::kTrack && column != SpanColumn::kKind &&
        column != SpanColumn::kName && column != SpanColumn::kCause) {
      return;
    }
    const model::Run& run = table.run();
    for (const auto& track : run.tracks) ranks_[track.info.name] = 0;
    for (const auto& stage : run.stages) ranks_[stage.name] = 0;
    for (const std::string& text : run.strings) ranks_[text] = 0;
    for (const std::string_view word :
         {"", "work", "wait", "copy", "kernel", "unknown", "empty", "full", "io", "device", "lock",
          "h2d", "d2h", "d2d", "pinned", "pageable"}) {
      ranks_[word] = 0;
    }
    uint64_t rank = 0;
    for (auto& [text, at] : ranks_) at = rank++;
  }
  uint64_t Of(std::string_view text) const {
    const auto found = ranks_.find(text);
    return found == ranks_.end() ? 0 : found->second;
  }

 private:
  std::map<std::string_view, uint64_t> ranks_;
};

uint64_t KeyOf(const SpanRow& row, SpanColumn column, const TextRanks& ranks) {
  constexpr uint64_t kSign = uint64_t{1} << 63;  // makes signed times ascend as unsigned ones
  switch (column) {
    case SpanColumn::kStart:
      return static_cast<uint64_t>(row.start_ns) ^ kSign;
    case SpanColumn::kDuration:
      return static_cast<uint64_t>(row.duration_ns);
    case SpanColumn::kTrack:
      return ranks.Of(row.track);
    case SpanColumn::kKind:
      return ranks.Of(row.kind);
    case SpanColumn::kName:
      return ranks.Of(row.name);
    case SpanColumn::kCause:
      return ranks.Of(row.cause);
    case SpanColumn::kItem:
      return row.item.value;
    case SpanColumn::kBytes:
      return row.bytes;
  }
  return 0;
}

struct Keyed {
  uint64_t key;
  SpanRowNumber row;
};

void Sort(const SpanTable& table, const SpanQuery& query, const std::atomic<bool>& cancelled,
          unsigned threads, Column<SpanRowNumber>& rows) {
  const TextRanks ranks(table, query.sort);
  Column<Keyed> keyed(rows.size());
  attribution::ForEachParallel(PiecesOf(rows.size()), threads, [&](size_t piece) {
    const size_t end = std::min(rows.size(), (piece + 1) * kPiece);
    for (size_t i = piece * kPiece; i < end; ++i) {
      const uint64_t key = KeyOf(table.At(rows[i]), query.sort, ranks);
      keyed[i] = {query.descending ? ~key : key, rows[i]};
    }
  });
  const auto before = [](const Keyed& a, const Keyed& b) {
    return a.key != b.key ? a.key < b.key : a.row < b.row;
  };
  // Halves side by side, then together. The tracks of a run are in order already: then there is
  // less to do than a sort.
  const auto middle = keyed.begin() + static_cast<std::ptrdiff_t>(keyed.size() / 2);
  attribution::ForEachParallel(2, threads, [&](size_t half) {
    if (cancelled) return;
    const auto from = half == 0 ? keyed.begin() : middle;
    const auto to = half == 0 ? middle : keyed.end();
    if (!std::is_sorted(from, to, before)) std::sort(from, to, before);
  });
  if (cancelled) return;
  std::inplace_merge(keyed.begin(), middle, keyed.end(), before);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = keyed[i].row;
}

struct Extremes {
  int64_t min = std::numeric_limits<int64_t>::max();
  int64_t max = std::numeric_limits<int64_t>::min();
  uint64_t sum = 0;  // that of a broken trace wraps around
};

size_t BinOf(int64_t ns, double low, double step) {
  const double at = (std::log(static_cast<double>(std::max<int64_t>(ns, 1))) - low) / step;
  return static_cast<size_t>(std::clamp(at, 0.0, static_cast<double>(kBins - 1)));
}

}  // namespace

DurationStatistics StatisticsOf(const SpanTable& table, const SpanList& list, size_t first,
                                size_t last) {
  DurationStatistics result;
  last = std::min(last, list.rows.size());
  if (first >= last) return result;
  Extremes extremes;
  attribution::DurationHistogram durations;
  std::vector<int64_t> all;
  all.reserve(last - first);
  for (size_t i = first; i < last; ++i) {
    const int64_t ns = table.At(list.rows[i]).duration_ns;
    all.push_back(ns);
    extremes.min = std::min(extremes.min, ns);
    extremes.max = std::max(extremes.max, ns);
    extremes.sum += static_cast<uint64_t>(ns);
    durations.Add(ns);
  }
  const attribution::Quantiles summary = durations.Summary();
  result.count = last - first;
  result.sum_ns = static_cast<int64_t>(extremes.sum);
  result.min_ns = extremes.min;
  result.max_ns = extremes.max;
  result.mean_ns = summary.mean;
  result.p50_ns = summary.p50;
  result.p95_ns = summary.p95;
  result.p99_ns = summary.p99;
  const double low = std::log(static_cast<double>(std::max<int64_t>(extremes.min, 1)));
  const double high = std::log(static_cast<double>(std::max<int64_t>(extremes.max, 1)));
  const double step = std::max((high - low) / static_cast<double>(kBins), 1e-9);
  result.histogram.resize(kBins);
  for (const int64_t ns : all) ++result.histogram[BinOf(ns, low, step)];
  return result;
}

Result<SpanList> ListSpans(const SpanTable& table, const SpanQuery& query,
                           const std::atomic<bool>& cancelled, unsigned threads) {
  STALLSCOPE_ASSIGN_OR_RETURN(const SpanFilter filter,
                              SpanFilter::Parse(query.filter, table.run()));
  SpanList list;
  list.query = query;
  list.rows = Filtered(table, filter, query.range, cancelled, threads);
  Sort(table, query, cancelled, threads, list.rows);
  if (cancelled) {
    list.rows.clear();
    return list;
  }
  list.statistics = StatisticsOf(table, list, 0, list.rows.size());
  return list;
}

}  // namespace stallscope::session
