#include "gui/session/span_table.h"

#include <algorithm>

#include "analyzer/export/words.h"

namespace stallscope::session {
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

}  // namespace stallscope::session
