// The columns of a picture, and how much of each is filled. Private to the room.
#ifndef STALLSCOPE_ANALYZER_TIMELINE_COLUMNS_H_
#define STALLSCOPE_ANALYZER_TIMELINE_COLUMNS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/model/run.h"

namespace stallscope::timeline {

// Adds up intervals. Column k is [start + k x length / columns, start + (k + 1) x length /
// columns), in whole numbers, so that every nanosecond of the range lies in exactly one column.
//
// An interval over many columns is two differences and not a loop over them: the cost of Add does
// not depend on the interval's length.
class Columns {
 public:
  Columns(model::TimeRange range, size_t columns);

  // Cut to the range. Intervals must not overlap, or their sum counts twice.
  void Add(int64_t start_ns, int64_t end_ns);
  // The sums as fractions of the columns' widths times `share` (workers, say).
  std::vector<float> Fractions(size_t share = 1) const;

  bool empty() const { return columns_ == 0 || range_.end_ns <= range_.start_ns; }
  const model::TimeRange& range() const { return range_; }

 private:
  int64_t BeginOf(size_t column) const;
  size_t ColumnOf(int64_t time_ns) const;

  model::TimeRange range_;
  size_t columns_;
  std::vector<int64_t> partial_;  // nanoseconds of columns that are not wholly covered
  std::vector<int64_t> whole_;    // differences: how many intervals cover the column wholly
  // The column that the interval before ended in: most of a million begin there, too, and then
  // none of Add's divisions are needed.
  size_t last_ = 0;
  int64_t last_begin_ = 0;
  int64_t last_end_ = 0;  // as last_begin_: none yet
};

}  // namespace stallscope::timeline

#endif  // STALLSCOPE_ANALYZER_TIMELINE_COLUMNS_H_
