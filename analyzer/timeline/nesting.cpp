#include "analyzer/timeline/nesting.h"

#include <algorithm>

namespace stallscope::timeline {

Nesting NestingOf(const model::Run& run, const model::Track& track) {
  struct Enclosing {
    int64_t start_ns;
    size_t next_row;  // for what lies inside
  };
  const trace::SpanColumns& spans = track.spans;
  Nesting nesting;
  nesting.span_rows.resize(spans.size());
  uint8_t deepest = 0;
  // Against the order of the ends: what encloses a span comes before it.
  std::vector<Enclosing> open;
  for (size_t i = spans.size(); i-- > 0;) {
    while (!open.empty() && open.back().start_ns >= spans.EndNs(i)) open.pop_back();
    const size_t row = open.empty() ? 0 : open.back().next_row;
    if (run.ClassOf(track, i).kind == trace::SpanKind::kWait) {
      nesting.span_rows[i] = static_cast<uint8_t>(row == 0 ? 0 : row - 1);
    } else {
      nesting.span_rows[i] = static_cast<uint8_t>(std::min(row, kMostNestedRows - 1));
      open.push_back({spans.start_ns[i], std::min(row + 1, kMostNestedRows)});
    }
    deepest = std::max(deepest, nesting.span_rows[i]);
  }
  if (deepest == 0) return {};
  for (uint8_t row = 0; row <= deepest; ++row) {
    nesting.rows.push_back(LaneIndex::FromSpansOfRow(track, nesting.span_rows, row));
  }
  return nesting;
}

}  // namespace stallscope::timeline
