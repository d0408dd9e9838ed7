#include "tests/support/trace_samples.h"

namespace stallscope::test {

using trace::ChunkBuilder;
using trace::EventRows;
using trace::SpanClass;
using trace::SpanKind;
using trace::WaitCause;

EventRows RandomRows(Random& random, size_t count) {
  EventRows rows;
  trace::ForEachTable(rows, [&]<class Row>(int, std::vector<Row>& table) {
    for (size_t i = 0; i < count; ++i) table.push_back(RandomRow<Row>(random));
  });
  return rows;
}

void AddAll(ChunkBuilder& builder, const EventRows& rows) {
  trace::ForEachTable(rows, [&](int, const auto& table) {
    for (const auto& row : table) builder.Add(row);
  });
}

trace::RunInfo FullRunInfo() {
  trace::RunInfo run;
  run.name = "images";
  run.tool = "stallscope 0.1.0";
  run.command_line = {"stallscope", "record", "", "a b"};
  run.spec_json = R"({"name": "images"})";
  run.graph_json = R"({"name": "images", "stages": []})";
  run.seed = ~uint64_t{0};
  run.data_fingerprint = "0123456789abcdef";
  run.digest = "fedcba9876543210";
  run.host = {"node-1", "6.1.0", "some cpu", 64, 16, 3.5, uint64_t{1} << 38, uint64_t{1} << 33};
  run.device = {"emulated", "device \xc3\xa9", uint64_t{80} << 30, "550.1"};
  run.tick_source = "tsc";
  run.ticks_per_second = 2.4e9 + 1.0 / 3;
  run.start_ns = 12'345;
  run.start_realtime_ns = 1'800'000'000'000'000'000;
  run.end_ns = -1;
  run.process = 4242;
  run.rank = 3;
  run.world_size = 8;
  run.flops_per_step = 123'456'789;
  run.folder = "/home/user/experiments";
  run.origin = std::string("\0\xff digest", 9);
  run.device.peak_memory_bytes = 7 << 20;
  run.device.peak_flops_per_s = 989'400'000'000'000;
  run.warnings = {"no perf events", ""};
  run.job = {{"python", "train.py"}, "3.11.2", {{"torch", "2.9.0"}, {"", ""}}, 0, "/home/user"};
  return run;
}

trace::Definitions FullDefinitions() {
  trace::Definitions definitions;
  definitions.run = FullRunInfo();
  definitions.stages = {{StageId{0}, "read", "source", {}, QueueId{0}, 2, false},
                        {StageId{1},
                         "decode",
                         "map",
                         {StageId{0}, StageId{7}},
                         QueueId::None(),
                         4,
                         true,
                         LoaderId{2}}};
  definitions.queues = {{QueueId{0}, "read.out", 64, false},
                        {QueueId{1}, "cache lock", ~uint64_t{0}, true}};
  definitions.tracks = {
      {TrackId{0}, "reader 0", trace::TrackKind::kThread, StageId{0}, 991, 0},
      {TrackId{900}, "stream 7", trace::TrackKind::kStream, StageId::None(), 0, 3},
      {TrackId{901}, "h2d", trace::TrackKind::kCopyEngine, StageId::None(), 0, 3},
      {TrackId{902}, "cpu", trace::TrackKind::kSampler, StageId::None(), 992, 0, ProcessId{3}}};
  definitions.counters = {{CounterId{0}, "rss", "bytes"}, {CounterId{5}, "runq", "", ProcessId{0}}};
  definitions.processes = {{ProcessId{0}, "train.py", 7, 6, {"python", "train.py", ""}, 5, 9},
                           {ProcessId{3}, "worker 0", 8, 7, {}, 6, 0}};
  definitions.loaders = {
      {LoaderId{2},
       ProcessId{0},
       "DataLoader",
       "Images",
       "/train.py",
       12,
       "{\"num_workers\":2}",
       {12, 4, 13, 1, {"DataLoader", "D"}, {"dataset", ""}, {"in_order"}, true, 11, "a\nb\n"}},
      {LoaderId{0}, ProcessId::None(), "", "", "", 0, ""}};
  definitions.ops = {{"Resize", "/train.py", 30}, {"", "", 0}};
  definitions.code_lines = {{"/train.py", 30, {{31, ~uint64_t{0}, 1}, {~0u, 1, ~uint64_t{0}}}},
                            {"", 0, {}}};
  return definitions;
}

std::vector<Span> RandomSpans(Random& random, size_t count) {
  std::vector<Span> spans;
  constexpr uint32_t kTracks = 4;
  int64_t now[kTracks];
  for (int64_t& t : now) t = 1'000'000'000'000 + static_cast<int64_t>(random.Below(1'000'000));
  for (size_t i = 0; i < count; ++i) {
    Span span;
    span.track = static_cast<uint32_t>(random.Below(kTracks));
    int64_t& t = now[span.track];
    span.start_ns = t += static_cast<int64_t>(random.Below(2'000));
    span.end_ns = t += static_cast<int64_t>(random.OfAnyLength(random.OneIn(500) ? 36 : 20));
    if (random.OneIn(3)) {
      span.span_class = {SpanKind::kWait, StageId::None(), static_cast<WaitCause>(random.Below(6)),
                         QueueId{static_cast<uint32_t>(random.Below(3))}};
      if (random.OneIn(2)) span.waker = TrackId{static_cast<uint32_t>(random.Below(kTracks))};
    } else {
      span.span_class = {SpanKind::kWork, StageId{static_cast<uint32_t>(random.Below(5))},
                         WaitCause::kUnknown, QueueId::None()};
      span.item = ItemId{i / 3};
      if (random.OneIn(8)) span.cpu_ns = random.OfAnyLength(20);
      if (random.OneIn(8)) span.bytes = random.OfAnyLength(24);
    }
    spans.push_back(span);
  }
  return spans;
}

void Add(ChunkBuilder& builder, const Span& span) {
  builder.AddSpan(TrackId{span.track}, span.span_class, span.start_ns, span.end_ns, span.item);
  if ((span.bytes | span.cpu_ns) != 0) builder.AddCost(span.bytes, span.cpu_ns);
  if (span.waker.known()) builder.AddWaker(span.waker);
}

std::string RandomPayload(Random& random, size_t spans, size_t rows) {
  const NumberedNames names;
  ChunkBuilder builder(names);
  builder.Define(FullRunInfo());
  for (const auto& stage : FullDefinitions().stages) builder.Define(stage);
  for (const Span& span : RandomSpans(random, spans)) Add(builder, span);
  AddAll(builder, RandomRows(random, rows));
  return builder.Finish({random.Next(), 5'000, 1'800'000'000'000'000'000});
}

std::string TraceBytes(const std::vector<std::string>& payloads) {
  std::string bytes = trace::EncodeFileHeader({});
  for (uint32_t i = 0; i < payloads.size(); ++i) {
    const bool last = i + 1 == payloads.size();
    bytes += trace::EncodeFrame(last ? trace::FrameType::kSeal : trace::FrameType::kChunk, 0, i,
                                payloads[i]);
  }
  return bytes;
}

std::string RandomTraceBytes(uint64_t seed, size_t chunks, size_t payload_bytes) {
  Random random(seed);
  std::vector<std::string> payloads;
  for (size_t i = 0; i < chunks; ++i) {
    // A chunk without spans has about 1,400 bytes; a span has about 8.
    payloads.push_back(RandomPayload(random, payload_bytes / 16, 1 + payload_bytes / 4'000));
  }
  const NumberedNames names;
  ChunkBuilder builder(names);
  builder.SetSeal({99, {{TrackId{0}, 12, 10, 2}, {TrackId{3}, 5, 5, 0}}, ""});
  payloads.push_back(builder.Finish({}));
  return TraceBytes(payloads);
}

std::vector<size_t> FrameOffsets(std::string_view bytes) {
  std::vector<size_t> offsets;
  size_t at = trace::kHeaderSize;
  while (at < bytes.size()) {
    offsets.push_back(at);
    at += trace::kFrameHeaderSize + trace::DecodeFrameHeader(bytes.substr(at))->length;
  }
  offsets.push_back(at);
  return offsets;
}

}  // namespace stallscope::test
