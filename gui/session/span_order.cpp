#include "gui/session/span_order.h"

#include <algorithm>
#include <bit>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/base/thread.h"

namespace stallscope::session {
namespace {

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

uint64_t KeyOf(const SpanTable& table, const IntervalRef& ref, SpanColumn column,
               const TextRanks& ranks) {
  constexpr uint64_t kSign = uint64_t{1} << 63;  // makes signed times ascend as unsigned ones
  switch (column) {
    case SpanColumn::kStart:
      return static_cast<uint64_t>(table.TimesOf(ref).start_ns) ^ kSign;
    case SpanColumn::kDuration:
      return static_cast<uint64_t>(table.TimesOf(ref).duration_ns);
    case SpanColumn::kTrack:
      return ranks.Of(table.At(ref).track);
    case SpanColumn::kKind:
      return ranks.Of(table.At(ref).kind);
    case SpanColumn::kName:
      return ranks.Of(table.At(ref).name);
    case SpanColumn::kCause:
      return ranks.Of(table.At(ref).cause);
    case SpanColumn::kItem:
      return table.At(ref).item.value;
    case SpanColumn::kBytes:
      return table.At(ref).bytes;
  }
  return 0;
}

struct Keyed {
  uint64_t key;
  SpanRowNumber row;
};

// The rows in as many shares as there are threads, with the smallest and the largest key.
class Sorter {
 public:
  Sorter(size_t rows, unsigned threads)
      : keyed_(rows), other_(rows), shares_(rows < kFewRows ? 1 : std::max(threads, 1U)) {}

  template <class KeyOfRow>
  void Take(const Column<SpanRowNumber>& rows, KeyOfRow&& key_of) {
    std::vector<uint64_t> least(shares_, ~uint64_t{0});
    std::vector<uint64_t> most(shares_, 0);
    ForEachShare([&](size_t share, size_t begin, size_t end) {
      size_t near = 0;
      for (size_t i = begin; i < end; ++i) {
        const uint64_t key = key_of(rows[i], near);
        keyed_[i] = {key, rows[i]};
        least[share] = std::min(least[share], key);
        most[share] = std::max(most[share], key);
      }
    });
    least_ = *std::min_element(least.begin(), least.end());
    most_ = *std::max_element(most.begin(), most.end());
  }

  void Sort(const std::atomic<bool>& cancelled) {
    // One track alone is in order already.
    const auto before = [](const Keyed& a, const Keyed& b) { return a.key < b.key; };
    if (std::is_sorted(keyed_.begin(), keyed_.end(), before)) return;
    const auto width = static_cast<unsigned>(std::bit_width(most_ - least_));
    const unsigned passes = (width + kMostBits - 1) / kMostBits;
    const unsigned bits = (width + passes - 1) / passes;
    for (unsigned pass = 0; pass < passes && !cancelled; ++pass) {
      Distribute(pass * bits, bits);
      keyed_.swap(other_);
    }
  }

  void Give(Column<SpanRowNumber>& rows) const {
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = keyed_[i].row;
  }

 private:
  static constexpr unsigned kMostBits = 11;  // of a digit: its places fit into the first cache
  static constexpr size_t kFewRows = size_t{1} << 16;  // for which a thread is not worth starting

  template <class Work>
  void ForEachShare(Work&& work) const {
    ForEachParallel(shares_, shares_, [&](size_t share) {
      work(share, keyed_.size() * share / shares_, keyed_.size() * (share + 1) / shares_);
    });
  }

  // By one digit of the keys, those with the same one in their order: each share has places of its
  // own behind those of the shares before it.
  void Distribute(unsigned shift, unsigned bits) {
    const size_t digits = size_t{1} << bits;
    const auto digit_of = [&](const Keyed& one) {
      return ((one.key - least_) >> shift) & (digits - 1);
    };
    std::vector<std::vector<size_t>> places(shares_, std::vector<size_t>(digits));
    ForEachShare([&](size_t share, size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) ++places[share][digit_of(keyed_[i])];
    });
    size_t at = 0;
    for (size_t digit = 0; digit < digits; ++digit) {
      for (std::vector<size_t>& own : places) at += std::exchange(own[digit], at);
    }
    ForEachShare([&](size_t share, size_t begin, size_t end) {
      size_t* const own = places[share].data();
      for (size_t i = begin; i < end; ++i) other_[own[digit_of(keyed_[i])]++] = keyed_[i];
    });
  }

  Column<Keyed> keyed_;
  Column<Keyed> other_;
  const unsigned shares_;
  uint64_t least_ = 0;
  uint64_t most_ = 0;
};

}  // namespace

void SortRows(const SpanTable& table, SpanColumn column, bool descending,
              const std::atomic<bool>& cancelled, unsigned threads, Column<SpanRowNumber>& rows) {
  if (rows.empty() || cancelled) return;
  const TextRanks ranks(table, column);
  Sorter sorter(rows.size(), threads);
  sorter.Take(rows, [&](SpanRowNumber row, size_t& near) {
    const uint64_t key = KeyOf(table, table.RefOf(row, near), column, ranks);
    return descending ? ~key : key;
  });
  sorter.Sort(cancelled);
  sorter.Give(rows);
}

}  // namespace stallscope::session
