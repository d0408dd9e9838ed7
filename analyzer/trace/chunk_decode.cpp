#include "analyzer/trace/chunk.h"
#include "analyzer/trace/table_codec.h"
#include "analyzer/trace/trace.pb.h"
#include "analyzer/trace/wire_walk.h"

namespace stallscope::trace {
namespace {

Error Bad(const std::string& what) {
  return Error{ErrorKind::kInput, what, "", "the chunk is passed over"};
}

Names Decode(wire::Names& from) {
  Names names;
  const int count = std::min(from.id_size(), from.name_size());
  names.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) names.emplace_back(from.id(i), std::move(*from.mutable_name(i)));
  return names;
}

RunInfo Decode(wire::RunInfo& from) {
  RunInfo run;
  run.name = from.name();
  run.tool = from.tool();
  run.command_line.assign(from.command_line().begin(), from.command_line().end());
  run.spec_json = from.spec_json();
  run.graph_json = from.graph_json();
  run.seed = from.seed();
  run.data_fingerprint = from.data_fingerprint();
  run.digest = from.digest();
  run.host = {from.host().name(),          from.host().kernel(),
              from.host().cpu(),           from.host().cores_online(),
              from.host().cores_allowed(), from.host().cgroup_cores(),
              from.host().memory_bytes(),  from.host().memory_limit_bytes()};
  run.device = {from.device().kind(),
                from.device().name(),
                from.device().memory_bytes(),
                from.device().driver(),
                from.device().peak_memory_bytes(),
                from.device().peak_flops_per_s()};
  run.tick_source = from.tick_source();
  run.ticks_per_second = from.ticks_per_second();
  run.start_ns = ClampTime(from.start_ns());
  run.start_realtime_ns = ClampTime(from.start_realtime_ns());
  run.end_ns = ClampTime(from.end_ns());
  run.process = from.process();
  run.rank = from.rank();
  run.world_size = from.world_size();
  run.warnings.assign(from.warnings().begin(), from.warnings().end());
  run.imported_from = from.imported_from();
  run.limits.assign(from.limits().begin(), from.limits().end());
  run.flops_per_step = from.flops_per_step();
  run.folder = from.folder();
  run.origin = from.origin();
  return run;
}

Definitions Decode(wire::Definitions& from) {
  Definitions to;
  if (from.has_run()) to.run = Decode(*from.mutable_run());
  for (const wire::StageInfo& s : from.stages()) {
    StageInfo stage{StageId{s.id()}, s.name(),   s.kind(), {}, QueueId{s.queue_plus_1() - 1},
                    s.workers(),     s.ordered()};
    for (uint32_t input : s.inputs()) stage.inputs.push_back(StageId{input});
    to.stages.push_back(std::move(stage));
  }
  for (const wire::QueueInfo& q : from.queues()) {
    to.queues.push_back({QueueId{q.id()}, q.name(), q.capacity(), q.lock()});
  }
  for (const wire::TrackInfo& t : from.tracks()) {
    // A kind that a later version brings has a name at least; a thread is what most tracks are.
    const TrackKind kind = t.kind() > 4 ? TrackKind::kThread : static_cast<TrackKind>(t.kind());
    to.tracks.push_back(
        {TrackId{t.id()}, t.name(), kind, StageId{t.stage_plus_1() - 1}, t.thread(), t.device()});
  }
  for (const wire::CounterInfo& c : from.counters()) {
    to.counters.push_back({CounterId{c.id()}, c.name(), c.unit()});
  }
  return to;
}

EncodedSpans Decode(wire::Spans& from) {
  return {TrackId{from.track()},
          from.count(),
          std::move(*from.mutable_class_()),
          std::move(*from.mutable_start()),
          std::move(*from.mutable_duration()),
          std::move(*from.mutable_item()),
          std::move(*from.mutable_bytes()),
          std::move(*from.mutable_cpu_ns()),
          std::move(*from.mutable_waker())};
}

Seal Decode(const wire::Seal& from) {
  Seal seal;
  seal.end_ns = ClampTime(from.end_ns());
  seal.first_error = from.first_error();
  for (const wire::Tally& t : from.tallies()) {
    seal.tallies.push_back({TrackId{t.track()}, t.emitted(), t.stored(), t.dropped()});
  }
  return seal;
}

template <class Row>
bool Decode(int number, const wire::Chunk& chunk, std::vector<Row>& rows) {
  const auto* field = chunk.GetDescriptor()->FindFieldByNumber(number);
  const auto* reflection = chunk.GetReflection();
  if (!reflection->HasField(chunk, field)) return true;
  const auto& table = static_cast<const wire::Table&>(reflection->GetMessage(chunk, field));
  return DecodeTable(table.count(), table.column(), rows);
}

}  // namespace

Result<Chunk> DecodeChunk(std::string_view payload) {
  if (payload.size() > kMaxPayload) return Bad("a payload of more than 1 MiB");
  const std::optional<size_t> messages = CountMessages(payload);
  if (!messages) return Bad("a payload that is no chunk");
  if (*messages > kMaxMessagesInPayload) return Bad("a payload of too many parts");
  wire::Chunk wire_chunk;
  if (!wire_chunk.ParseFromArray(payload.data(), static_cast<int>(payload.size()))) {
    return Bad("a payload that is no chunk");
  }
  Chunk chunk;
  chunk.anchor = {wire_chunk.anchor().ticks(), ClampTime(wire_chunk.anchor().monotonic_ns()),
                  ClampTime(wire_chunk.anchor().realtime_ns())};
  chunk.stage_names = Decode(*wire_chunk.mutable_stage_names());
  chunk.queue_names = Decode(*wire_chunk.mutable_queue_names());
  chunk.track_names = Decode(*wire_chunk.mutable_track_names());
  chunk.counter_names = Decode(*wire_chunk.mutable_counter_names());
  chunk.strings = Decode(*wire_chunk.mutable_strings());
  chunk.definitions = Decode(*wire_chunk.mutable_definitions());
  for (const wire::SpanClass& c : wire_chunk.span_classes()) {
    chunk.span_classes.push_back(
        {c.kind() == 2 ? SpanKind::kWait : SpanKind::kWork, StageId{c.stage_plus_1() - 1},
         c.cause() > 5 ? WaitCause::kUnknown : static_cast<WaitCause>(c.cause()),
         QueueId{c.queue_plus_1() - 1}, StringId{c.name_plus_1() - 1},
         c.activity() > 6 ? SpanActivity::kNone : static_cast<SpanActivity>(c.activity())});
  }
  for (wire::Spans& spans : *wire_chunk.mutable_spans()) chunk.spans.push_back(Decode(spans));
  bool good = true;
  ForEachTable(chunk.rows,
               [&](int number, auto& table) { good = good && Decode(number, wire_chunk, table); });
  if (!good) return Bad("a table whose columns do not fit its count");
  if (wire_chunk.has_seal()) chunk.seal = Decode(wire_chunk.seal());
  return chunk;
}

}  // namespace stallscope::trace
