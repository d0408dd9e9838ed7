#include "tests/support/greedy_reader.h"

#include <numeric>

namespace stallscope::test {

void Keep(const trace::Chunk& chunk, EverythingRead& all) {
  ++all.chunks;
  std::vector<uint16_t> classes(std::min<size_t>(chunk.span_classes.size(), 65'535));
  std::iota(classes.begin(), classes.end(), uint16_t{0});
  for (const trace::EncodedSpans& encoded : chunk.spans) {
    trace::SpanColumns& spans = all.spans[encoded.track.value];
    const size_t before = spans.size();
    if (!trace::AppendSpans(encoded, classes, spans)) ++all.refused_spans;
    spans.PadOptional();
    for (size_t i = before; i < spans.size(); ++i) {
      all.sum += static_cast<uint64_t>(spans.EndNs(i) - spans.start_ns[i]) + spans.item[i];
    }
  }
  for (const auto& [id, text] : chunk.strings) all.strings[id] = text;
  trace::EventRows& into = all.rows;
  const auto append = [&](auto& to, const auto& from) {
    to.insert(to.end(), from.begin(), from.end());
    all.sum += from.size();
  };
  append(into.queue_events, chunk.rows.queue_events);
  append(into.releases, chunk.rows.releases);
  append(into.lineage, chunk.rows.lineage);
  append(into.batches, chunk.rows.batches);
  append(into.elements, chunk.rows.elements);
  append(into.cache_events, chunk.rows.cache_events);
  append(into.copies, chunk.rows.copies);
  append(into.kernels, chunk.rows.kernels);
  append(into.steps, chunk.rows.steps);
  append(into.samples, chunk.rows.samples);
  append(into.knobs, chunk.rows.knobs);
  append(into.gaps, chunk.rows.gaps);
  append(into.probes, chunk.rows.probes);
}

EverythingRead ReadEverything(trace::TraceReader& reader) {
  EverythingRead all;
  for (;;) {
    const auto chunk = reader.Next();
    if (!chunk.ok() || !chunk.value()) return all;
    Keep(*chunk.value(), all);
  }
}

}  // namespace stallscope::test
