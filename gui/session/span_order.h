// Sorts rows of a SpanTable by a column. Private to the room; any thread.
#pragma once

#include <atomic>

#include "analyzer/base/column.h"
#include "gui/session/span_table.h"

namespace stallscope::session {

// `rows` ascend; those with the same value stay in that order. A radix sort, because
// millions of rows are sorted while the user waits. Cancelled, they are in any order.
void SortRows(const SpanTable& table, SpanColumn column, bool descending,
              const std::atomic<bool>& cancelled, unsigned threads, Column<SpanRowNumber>& rows);

}  // namespace stallscope::session
