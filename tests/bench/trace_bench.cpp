// How fast spans are written into frames and read back into columns.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdlib>
#include <random>
#include <string>

#include "analyzer/trace/chunk.h"
#include "analyzer/trace/reader.h"
#include "analyzer/trace/writer.h"

namespace {

using namespace stallscope;         // NOLINT(google-build-using-namespace)
using namespace stallscope::trace;  // NOLINT(google-build-using-namespace)

constexpr uint64_t kSpans = 2'000'000;
constexpr uint32_t kTracks = 4;

class NoNames : public NameSource {
 public:
  std::string StageName(StageId) const override { return "stage"; }
  std::string QueueName(QueueId) const override { return "queue"; }
  std::string TrackName(TrackId) const override { return "track"; }
  std::string CounterName(CounterId) const override { return "counter"; }
  std::string String(StringId) const override { return "string"; }
};

struct MadeSpan {
  SpanClass span_class;
  int64_t start;
  int64_t end;
  ItemId item;
};

// Workers as a pipeline has them: work of 50 to 1,000 us, a short wait before and after it.
std::vector<MadeSpan> MakeSpans() {
  std::mt19937_64 random(7);
  std::vector<MadeSpan> spans;
  int64_t now = 1'000'000'000'000;
  for (uint64_t i = 0; spans.size() < kSpans / kTracks; ++i) {
    const auto length = [&](int64_t low, int64_t high) {
      return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low));
    };
    int64_t end = now + length(500, 20'000);
    spans.push_back({{SpanKind::kWait, {}, WaitCause::kEmpty, QueueId{1}}, now, end, {}});
    now = end;
    end = now + length(50'000, 1'000'000);
    spans.push_back({{SpanKind::kWork, StageId{2}, {}, {}}, now, end, ItemId{i * kTracks}});
    now = end;
    end = now + length(500, 20'000);
    spans.push_back({{SpanKind::kWait, {}, WaitCause::kFull, QueueId{2}}, now, end, {}});
    now = end;
  }
  return spans;
}

std::string Path() { return "/tmp/stallscope_trace_bench." + std::to_string(getpid()) + ".sst"; }

uint64_t WriteAll(const std::vector<MadeSpan>& spans) {
  auto writer = TraceWriter::Create(Path());
  if (!writer.ok()) std::abort();
  NoNames names;
  ChunkBuilder builder(names);
  // As the flusher finds them: one track after the other, a few thousand spans each.
  constexpr size_t kStretch = 4'000;
  for (size_t from = 0; from < spans.size(); from += kStretch) {
    for (uint32_t track = 0; track < kTracks; ++track) {
      for (size_t i = from; i < std::min(spans.size(), from + kStretch); ++i) {
        if (builder.Full() && !writer.value().Append(FrameType::kChunk, builder.Finish({})).ok()) {
          std::abort();
        }
        builder.AddSpan(TrackId{track}, spans[i].span_class, spans[i].start, spans[i].end,
                        spans[i].item);
      }
    }
  }
  if (!writer.value().Append(FrameType::kSeal, builder.Finish({})).ok()) std::abort();
  return writer.value().size();
}

void WriteSpans(benchmark::State& state) {
  const std::vector<MadeSpan> spans = MakeSpans();
  uint64_t bytes = 0;
  for (auto _ : state) bytes = WriteAll(spans);
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(spans.size() * kTracks));
  state.counters["bytes_per_span"] =
      static_cast<double>(bytes) / static_cast<double>(spans.size() * kTracks);
  unlink(Path().c_str());
}
BENCHMARK(WriteSpans)->Unit(benchmark::kMillisecond);

void ReadSpans(benchmark::State& state) {
  const std::vector<MadeSpan> spans = MakeSpans();
  WriteAll(spans);
  uint64_t count = 0;
  for (auto _ : state) {
    auto reader = TraceReader::Open(Path());
    if (!reader.ok()) std::abort();
    std::vector<SpanColumns> tracks(kTracks);
    for (SpanColumns& track : tracks) track.Reserve(spans.size());
    std::vector<uint16_t> classes(16);
    for (;;) {
      auto chunk = reader.value().Next();
      if (!chunk.ok() || !chunk.value()) break;
      for (const EncodedSpans& encoded : chunk.value()->spans) {
        if (!AppendSpans(encoded, classes, tracks[encoded.track.value])) std::abort();
      }
    }
    for (const SpanColumns& track : tracks) count += track.size();
  }
  if (count != static_cast<uint64_t>(state.iterations()) * spans.size() * kTracks) std::abort();
  state.SetItemsProcessed(static_cast<int64_t>(count));
  unlink(Path().c_str());
}
BENCHMARK(ReadSpans)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
