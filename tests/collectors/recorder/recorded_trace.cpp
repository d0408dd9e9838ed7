#include "tests/collectors/recorder/recorded_trace.h"

#include <doctest/doctest.h>

namespace stallscope::test {
namespace {

void TakeSpans(const trace::Chunk& chunk, RecordedTrace& all) {
  for (const trace::EncodedSpans& encoded : chunk.spans) {
    trace::SpanColumns columns;
    std::vector<uint16_t> same;
    for (size_t i = 0; i < chunk.span_classes.size(); ++i) same.push_back(static_cast<uint16_t>(i));
    REQUIRE(trace::AppendSpans(encoded, same, columns));
    columns.PadOptional();
    for (size_t i = 0; i < columns.size(); ++i) {
      const uint32_t waker = columns.waker.empty() ? 0 : columns.waker[i];
      all.spans[encoded.track.value].push_back(
          {chunk.span_classes[columns.span_class[i]], columns.start_ns[i], columns.EndNs(i),
           ItemId{columns.item[i]}, columns.bytes.empty() ? 0 : columns.bytes[i],
           columns.cpu_ns.empty() ? 0 : columns.cpu_ns[i], TrackId{waker - 1}});
    }
  }
}

}  // namespace

uint64_t RecordedTrace::SpanCount() const {
  uint64_t count = 0;
  for (const auto& [track, list] : spans) count += list.size();
  return count;
}
uint64_t RecordedTrace::Emitted() const {
  uint64_t count = 0;
  for (const trace::Tally& t : tallies) count += t.emitted;
  return count;
}
uint64_t RecordedTrace::Stored() const {
  uint64_t count = 0;
  for (const trace::Tally& t : tallies) count += t.stored;
  return count;
}
uint64_t RecordedTrace::Dropped() const {
  uint64_t count = 0;
  for (const trace::Tally& t : tallies) count += t.dropped;
  return count;
}
uint64_t RecordedTrace::DroppedInGaps() const {
  uint64_t count = 0;
  for (const trace::Gap& gap : rows.gaps) count += gap.dropped;
  return count;
}

RecordedTrace ReadTrace(const std::string& path) {
  RecordedTrace all;
  auto reader = trace::TraceReader::Open(path);
  REQUIRE(reader.ok());
  for (;;) {
    auto next = reader.value().Next();
    REQUIRE(next.ok());
    if (!next.value()) break;
    trace::Chunk& chunk = *next.value();
    TakeSpans(chunk, all);
    trace::ForEachTable(all.rows, [&](int number, auto& table) {
      trace::ForEachTable(chunk.rows, [&](int other, auto& rows) {
        if constexpr (std::is_same_v<decltype(table), decltype(rows)>) {
          if (number == other) table.insert(table.end(), rows.begin(), rows.end());
        }
      });
    });
    for (const auto& [id, name] : chunk.track_names) all.track_names[id] = name;
    for (const auto& [id, text] : chunk.strings) all.strings[id] = text;
    if (chunk.seal) {
      all.tallies.insert(all.tallies.end(), chunk.seal->tallies.begin(), chunk.seal->tallies.end());
      all.sealed = all.sealed || chunk.seal->end_ns != 0;
    }
    chunk.spans.clear();
    all.chunks.push_back(std::move(chunk));
  }
  all.damage = reader.value().damage();
  return all;
}

}  // namespace stallscope::test
