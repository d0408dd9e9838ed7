// Spans of one track in columns: the form of nearly all of a trace's events.
//
// A column is a sequence of varints, one per span (FORMAT.md has the rules). `class` indexes the
// chunk's table of span classes; `start` is the zigzag difference from the end of the previous
// span; `item` is 0 for none, else 1 + the zigzag difference from the previous item (items are
// below 2^63). bytes, cpu_ns and waker are omitted if they are all 0.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/base/column.h"
#include "analyzer/base/ids.h"
#include "analyzer/trace/limits.h"
#include "analyzer/trace/varint.h"

namespace stallscope::trace {

struct EncodedSpans {
  TrackId track;
  uint32_t count = 0;
  std::string span_class;
  std::string start;
  std::string duration;
  std::string item;
  std::string bytes;
  std::string cpu_ns;
  std::string waker;
};

class SpanEncoder {
 public:
  explicit SpanEncoder(TrackId track) : track_(track) {}

  // A span that ends before it starts gets duration 0, a time out of range (limits.h) the nearest
  // one, an item of 2^63 or more none.
  void Add(uint32_t span_class, int64_t start_ns, int64_t end_ns, ItemId item) {
    start_ns = ClampTime(start_ns);
    end_ns = ClampTime(end_ns);
    class_.Put(span_class);
    start_.Put(ZigZag(start_ns - last_end_));
    last_end_ = end_ns > start_ns ? end_ns : start_ns;
    duration_.Put(static_cast<uint64_t>(last_end_ - start_ns));
    if (item.value >> 63 == 0) {  // not none either
      item_.Put(ZigZag(static_cast<int64_t>(item.value - last_item_)) + 1);
      last_item_ = item.value;
    } else {
      item_.Put(0);
    }
    ++count_;
  }

  // About the span added last; a second cost or waker of the same span is ignored.
  void AddCost(uint64_t bytes, uint64_t cpu_ns) {
    if (bytes != 0) bytes_.Put(count_, bytes);
    if (cpu_ns != 0) cpu_ns_.Put(count_, cpu_ns);
  }
  void AddWaker(TrackId waker) {
    if (waker.known()) waker_.Put(count_, uint64_t{waker.value} + 1);
  }

  uint32_t count() const { return count_; }
  // The maximum length of the columns, whatever costs and wakers are still added, except for the
  // last span.
  size_t Bound() const {
    return class_.size() + start_.size() + duration_.size() + item_.size() + bytes_.Bound(count_) +
           cpu_ns_.Bound(count_) + waker_.Bound(count_);
  }

  // Pads the columns that were begun, hands everything over and starts afresh.
  EncodedSpans Take() {
    EncodedSpans done{track_,
                      count_,
                      class_.Take(),
                      start_.Take(),
                      duration_.Take(),
                      item_.Take(),
                      bytes_.Take(count_),
                      cpu_ns_.Take(count_),
                      waker_.Take(count_)};
    count_ = 0;
    last_end_ = 0;
    last_item_ = 0;
    return done;
  }

 private:
  // A column that begins with the first nonzero value; earlier rows are filled in then.
  class SparseColumn {
   public:
    void Put(uint32_t rows, uint64_t value) {
      if (rows_ == rows) return;
      column_.PutZeros(rows - 1 - rows_);
      column_.Put(value);
      rows_ = rows;
    }
    size_t Bound(uint32_t rows) const { return column_.size() + rows - rows_; }
    std::string Take(uint32_t rows) {
      if (rows_ != 0) column_.PutZeros(rows - rows_);
      rows_ = 0;
      return column_.Take();
    }

   private:
    ColumnWriter column_;
    uint32_t rows_ = 0;
  };

  TrackId track_;
  uint32_t count_ = 0;
  int64_t last_end_ = 0;
  uint64_t last_item_ = 0;
  ColumnWriter class_;
  ColumnWriter start_;
  ColumnWriter duration_;
  ColumnWriter item_;
  SparseColumn bytes_;
  SparseColumn cpu_ns_;
  SparseColumn waker_;
};

// Spans in memory, 22 bytes each plus what is optional. Durations of 4.29 s and more are kept
// apart.
struct SpanColumns {
  static constexpr uint32_t kLongDuration = ~uint32_t{0};

  Column<int64_t> start_ns;
  Column<uint32_t> duration;  // kLongDuration: look into long_durations
  Column<uint16_t> span_class;
  Column<uint64_t> item;                                   // ItemId's number
  std::vector<std::pair<size_t, int64_t>> long_durations;  // by index, ascending
  // Empty if no span has one; else as long as start_ns once PadOptional() has been called.
  std::vector<uint64_t> bytes;
  std::vector<uint64_t> cpu_ns;
  std::vector<uint32_t> waker;  // TrackId's number + 1; 0 is none

  size_t size() const { return start_ns.size(); }
  int64_t DurationNs(size_t i) const {
    return duration[i] != kLongDuration ? int64_t{duration[i]} : LongDurationNs(i);
  }
  int64_t EndNs(size_t i) const { return start_ns[i] + DurationNs(i); }
  void Reserve(size_t spans);
  // `ns` is not negative. The optional columns stay as they are.
  void Append(int64_t start, int64_t ns, uint16_t what, ItemId of) {
    const bool is_long = ns >= int64_t{kLongDuration};
    if (is_long) [[unlikely]] {
      long_durations.emplace_back(size(), ns);
    }
    duration.push_back(is_long ? kLongDuration : static_cast<uint32_t>(ns));
    start_ns.push_back(start);
    span_class.push_back(what);
    item.push_back(of.value);
  }
  // Extends the optional columns that have been begun to the length of the others.
  void PadOptional();

 private:
  int64_t LongDurationNs(size_t i) const;
};

// Appends the spans. `classes` maps the chunk's class numbers to the reader's own. False, with
// nothing appended, if the columns do not hold exactly `count` values each, a class is not in the
// table, or a start or end is not a time (limits.h).
bool AppendSpans(const EncodedSpans& encoded, const std::vector<uint16_t>& classes,
                 SpanColumns& spans);

}  // namespace stallscope::trace
