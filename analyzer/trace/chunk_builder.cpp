#include <algorithm>
#include <cassert>

#include "analyzer/trace/chunk.h"
#include "analyzer/trace/table_codec.h"
#include "analyzer/trace/trace.pb.h"

namespace stallscope::trace {
namespace {

// How many spans may be added between two looks at how long the columns have become.
constexpr uint64_t kSpansBetweenMeasures = 1024;
constexpr size_t kMaxArguments = 1'024;
constexpr size_t kMaxListBytes = 64 << 10;

std::string Cut(const std::string& text, size_t limit) { return text.substr(0, limit); }

// Never 0: 0 marks a free place in the cache.
uint64_t KeyOf(const SpanClass& c) {
  return (uint64_t{c.stage.value} + 1) << 32 | (uint64_t{c.queue.value + 1} & 0xffffff) << 8 |
         static_cast<uint64_t>(c.cause) << 4 | static_cast<uint64_t>(c.kind);
}

// As many of `texts` as fit into kMaxListBytes.
std::vector<std::string> CutList(const std::vector<std::string>& texts) {
  std::vector<std::string> kept;
  size_t bytes = 0;
  for (const std::string& text : texts) {
    kept.push_back(Cut(text, kMaxNameBytes));
    bytes += kept.back().size() + 4;
    if (bytes > kMaxListBytes || kept.size() == kMaxArguments) break;
  }
  return kept;
}

size_t BytesOf(const std::vector<std::string>& texts) {
  size_t bytes = 0;
  for (const std::string& text : texts) bytes += text.size() + 4;
  return bytes;
}

template <class Row>
constexpr size_t kRowBound = kColumnCount<Row> * 10;

void Encode(const RunInfo& run, wire::RunInfo& to) {
  to.set_name(run.name);
  to.set_tool(run.tool);
  for (const std::string& argument : run.command_line) to.add_command_line(argument);
  to.set_spec_json(run.spec_json);
  to.set_graph_json(run.graph_json);
  to.set_seed(run.seed);
  to.set_data_fingerprint(run.data_fingerprint);
  to.set_digest(run.digest);
  wire::HostInfo& host = *to.mutable_host();
  host.set_name(run.host.name);
  host.set_kernel(run.host.kernel);
  host.set_cpu(run.host.cpu);
  host.set_cores_online(run.host.cores_online);
  host.set_cores_allowed(run.host.cores_allowed);
  host.set_cgroup_cores(run.host.cgroup_cores);
  host.set_memory_bytes(run.host.memory_bytes);
  host.set_memory_limit_bytes(run.host.memory_limit_bytes);
  wire::DeviceInfo& device = *to.mutable_device();
  device.set_kind(run.device.kind);
  device.set_name(run.device.name);
  device.set_memory_bytes(run.device.memory_bytes);
  device.set_driver(run.device.driver);
  to.set_tick_source(run.tick_source);
  to.set_ticks_per_second(run.ticks_per_second);
  to.set_start_ns(run.start_ns);
  to.set_start_realtime_ns(run.start_realtime_ns);
  to.set_end_ns(run.end_ns);
  to.set_process(run.process);
  to.set_rank(run.rank);
  to.set_world_size(run.world_size);
  for (const std::string& warning : run.warnings) to.add_warnings(warning);
}

void Encode(const Definitions& from, wire::Definitions& to) {
  if (from.run) Encode(*from.run, *to.mutable_run());
  for (const StageInfo& stage : from.stages) {
    wire::StageInfo& s = *to.add_stages();
    s.set_id(stage.id.value);
    s.set_name(stage.name);
    s.set_kind(stage.kind);
    for (StageId input : stage.inputs) s.add_inputs(input.value);
    s.set_queue_plus_1(stage.queue.value + 1);
    s.set_workers(stage.workers);
    s.set_ordered(stage.ordered);
  }
  for (const QueueInfo& queue : from.queues) {
    wire::QueueInfo& q = *to.add_queues();
    q.set_id(queue.id.value);
    q.set_name(queue.name);
    q.set_capacity(queue.capacity);
    q.set_lock(queue.lock);
  }
  for (const TrackInfo& track : from.tracks) {
    wire::TrackInfo& t = *to.add_tracks();
    t.set_id(track.id.value);
    t.set_name(track.name);
    t.set_kind(static_cast<uint32_t>(track.kind));
    t.set_stage_plus_1(track.stage.value + 1);
    t.set_thread(track.thread);
    t.set_device(track.device);
  }
  for (const CounterInfo& counter : from.counters) {
    wire::CounterInfo& c = *to.add_counters();
    c.set_id(counter.id.value);
    c.set_name(counter.name);
    c.set_unit(counter.unit);
  }
}

void Encode(const Seal& seal, wire::Seal& to) {
  to.set_end_ns(seal.end_ns);
  to.set_first_error(Cut(seal.first_error, kMaxNameBytes));
  for (const Tally& tally : seal.tallies) {
    wire::Tally& t = *to.add_tallies();
    t.set_track(tally.track.value);
    t.set_emitted(tally.emitted);
    t.set_stored(tally.stored);
    t.set_dropped(tally.dropped);
  }
}

void Encode(EncodedSpans from, wire::Spans& to) {
  to.set_track(from.track.value);
  to.set_count(from.count);
  to.set_class_(std::move(from.span_class));
  to.set_start(std::move(from.start));
  to.set_duration(std::move(from.duration));
  to.set_item(std::move(from.item));
  if (!from.bytes.empty()) to.set_bytes(std::move(from.bytes));
  if (!from.cpu_ns.empty()) to.set_cpu_ns(std::move(from.cpu_ns));
  if (!from.waker.empty()) to.set_waker(std::move(from.waker));
}

template <class Row>
void Encode(const std::vector<Row>& rows, int number, wire::Chunk& chunk) {
  if (rows.empty()) return;
  const auto* field = chunk.GetDescriptor()->FindFieldByNumber(number);
  auto& table = static_cast<wire::Table&>(*chunk.GetReflection()->MutableMessage(&chunk, field));
  table.set_count(static_cast<uint32_t>(rows.size()));
  for (std::string& column : EncodeTable(std::span<const Row>(rows))) {
    table.add_column(std::move(column));
  }
}

}  // namespace

bool ChunkBuilder::UsedIds::Insert(uint32_t id) {
  if (id == ~uint32_t{0}) return false;
  if (id >= seen.size()) seen.resize(id + size_t{1});
  if (seen[id]) return false;
  seen[id] = true;
  ids.push_back(id);
  return true;
}

void ChunkBuilder::UsedIds::Clear() {
  for (uint32_t id : ids) seen[id] = false;
  ids.clear();
}

ChunkBuilder::ChunkBuilder(const NameSource& names) : names_(names) {}

void ChunkBuilder::Use(StageId id) {
  if (stages_.Insert(id.value)) Grow(names_.StageName(id).size() + 12);
}
void ChunkBuilder::Use(QueueId id) {
  if (queues_.Insert(id.value)) Grow(names_.QueueName(id).size() + 12);
}
void ChunkBuilder::Use(TrackId id) {
  if (tracks_.Insert(id.value)) Grow(names_.TrackName(id).size() + 12);
}
void ChunkBuilder::Use(CounterId id) {
  if (counters_.Insert(id.value)) Grow(names_.CounterName(id).size() + 12);
}
void ChunkBuilder::Use(StringId id) {
  if (strings_.Insert(id.value)) Grow(names_.String(id).size() + 12);
}

SpanEncoder& ChunkBuilder::EncoderOf(TrackId track) {
  if (track == last_track_) return *last_spans_;
  if (track.value >= encoders_.size()) encoders_.resize(track.value + size_t{1});
  std::unique_ptr<SpanEncoder>& encoder = encoders_[track.value];
  if (encoder == nullptr) encoder = std::make_unique<SpanEncoder>(track);
  if (encoder->count() == 0) {
    open_tracks_.push_back(track);
    Use(track);
    Grow(64);  // the tags and lengths of its columns
  }
  last_track_ = track;
  last_spans_ = encoder.get();
  return *encoder;
}

uint32_t ChunkBuilder::ClassNumber(const SpanClass& span_class) {
  const uint64_t key = KeyOf(span_class);
  CachedClass& cached = class_cache_[(key * 0x9e3779b97f4a7c15u) >> 56];
  if (cached.key == key) return cached.number;
  auto found = std::find(classes_.begin(), classes_.end(), span_class);
  if (found == classes_.end()) {
    classes_.push_back(span_class);
    found = classes_.end() - 1;
    Use(span_class.stage);
    Use(span_class.queue);
    Grow(24);
  }
  cached = {key, static_cast<uint32_t>(found - classes_.begin())};
  return cached.number;
}

void ChunkBuilder::AddSpan(TrackId track, const SpanClass& span_class, int64_t start_ns,
                           int64_t end_ns, ItemId item) {
  SpanEncoder& encoder = EncoderOf(track);
  encoder.Add(ClassNumber(span_class), start_ns, end_ns, item);
  if (++span_count_ % kSpansBetweenMeasures == 0) MeasureSpans();
}

void ChunkBuilder::MeasureSpans() {
  span_bytes_ = 0;
  for (TrackId track : open_tracks_) span_bytes_ += encoders_[track.value]->Bound();
}

void ChunkBuilder::Add(const QueueEvent& row) {
  rows_.queue_events.push_back(row);
  Use(row.queue);
  Use(row.track);
  Grow(kRowBound<QueueEvent>);
}
void ChunkBuilder::Add(const Release& row) {
  rows_.releases.push_back(row);
  Use(row.stage);
  Grow(kRowBound<Release>);
}
void ChunkBuilder::Add(const Lineage& row) {
  rows_.lineage.push_back(row);
  Use(row.stage);
  Grow(kRowBound<Lineage>);
}
void ChunkBuilder::Add(const Batch& row) {
  rows_.batches.push_back(row);
  Use(row.stage);
  Use(row.shape);
  Grow(kRowBound<Batch>);
}
void ChunkBuilder::Add(const Element& row) {
  rows_.elements.push_back(row);
  Use(row.file);
  Grow(kRowBound<Element>);
}
void ChunkBuilder::Add(const CacheEvent& row) {
  rows_.cache_events.push_back(row);
  Use(row.stage);
  Grow(kRowBound<CacheEvent>);
}
void ChunkBuilder::Add(const Copy& row) {
  rows_.copies.push_back(row);
  Use(row.track);
  Grow(kRowBound<Copy>);
}
void ChunkBuilder::Add(const Kernel& row) {
  rows_.kernels.push_back(row);
  Use(row.track);
  Use(row.name);
  Grow(kRowBound<Kernel>);
}
void ChunkBuilder::Add(const Step& row) {
  rows_.steps.push_back(row);
  Use(row.track);
  Grow(kRowBound<Step>);
}
void ChunkBuilder::Add(const Sample& row) {
  rows_.samples.push_back(row);
  Use(row.counter);
  Grow(kRowBound<Sample>);
}
void ChunkBuilder::Add(const KnobChange& row) {
  rows_.knobs.push_back(row);
  for (StringId id : {row.path, row.old_value, row.new_value}) Use(id);
  Grow(kRowBound<KnobChange>);
}
void ChunkBuilder::Add(const Gap& row) {
  rows_.gaps.push_back(row);
  Use(row.track);
  Grow(kRowBound<Gap>);
}

void ChunkBuilder::Define(const RunInfo& run) {
  assert(Empty());
  RunInfo cut = run;
  for (std::string* name :
       {&cut.name, &cut.tool, &cut.data_fingerprint, &cut.digest, &cut.host.name, &cut.host.kernel,
        &cut.host.cpu, &cut.device.kind, &cut.device.name, &cut.device.driver, &cut.tick_source}) {
    *name = Cut(*name, kMaxNameBytes);
  }
  cut.spec_json = Cut(cut.spec_json, kMaxTextBytes);
  cut.graph_json = Cut(cut.graph_json, kMaxTextBytes);
  cut.command_line = CutList(cut.command_line);
  cut.warnings = CutList(cut.warnings);
  Grow(cut.spec_json.size() + cut.graph_json.size() + BytesOf(cut.command_line) +
       BytesOf(cut.warnings) + 11 * kMaxNameBytes + 256);
  definitions_.run = std::move(cut);
}
void ChunkBuilder::Define(const StageInfo& stage) {
  definitions_.stages.push_back(stage);
  definitions_.stages.back().name = Cut(stage.name, kMaxNameBytes);
  definitions_.stages.back().kind = Cut(stage.kind, kMaxNameBytes);
  Grow(stage.name.size() + stage.kind.size() + stage.inputs.size() * 5 + 48);
}
void ChunkBuilder::Define(const QueueInfo& queue) {
  definitions_.queues.push_back(queue);
  definitions_.queues.back().name = Cut(queue.name, kMaxNameBytes);
  Grow(queue.name.size() + 32);
}
void ChunkBuilder::Define(const TrackInfo& track) {
  definitions_.tracks.push_back(track);
  definitions_.tracks.back().name = Cut(track.name, kMaxNameBytes);
  Grow(track.name.size() + 40);
}
void ChunkBuilder::Define(const CounterInfo& counter) {
  definitions_.counters.push_back(counter);
  definitions_.counters.back().name = Cut(counter.name, kMaxNameBytes);
  definitions_.counters.back().unit = Cut(counter.unit, kMaxNameBytes);
  Grow(counter.name.size() + counter.unit.size() + 24);
}
void ChunkBuilder::SetSeal(const Seal& seal) {
  Grow(seal.tallies.size() * 40 + kMaxNameBytes + 32);
  seal_ = seal;
}

std::string ChunkBuilder::Finish(const Anchor& anchor) {
  wire::Chunk chunk;
  wire::ClockAnchor& clock = *chunk.mutable_anchor();
  clock.set_ticks(anchor.ticks);
  clock.set_monotonic_ns(anchor.monotonic_ns);
  clock.set_realtime_ns(anchor.realtime_ns);

  const auto put_names = [](UsedIds& used, wire::Names* to, auto name_of) {
    for (uint32_t id : used.ids) {
      to->add_id(id);
      to->add_name(Cut(name_of(id), kMaxNameBytes));
    }
    used.Clear();
  };
  put_names(stages_, chunk.mutable_stage_names(),
            [&](uint32_t id) { return names_.StageName(StageId{id}); });
  put_names(queues_, chunk.mutable_queue_names(),
            [&](uint32_t id) { return names_.QueueName(QueueId{id}); });
  put_names(tracks_, chunk.mutable_track_names(),
            [&](uint32_t id) { return names_.TrackName(TrackId{id}); });
  put_names(counters_, chunk.mutable_counter_names(),
            [&](uint32_t id) { return names_.CounterName(CounterId{id}); });
  put_names(strings_, chunk.mutable_strings(),
            [&](uint32_t id) { return names_.String(StringId{id}); });

  Encode(definitions_, *chunk.mutable_definitions());
  definitions_ = {};
  for (const SpanClass& c : classes_) {
    wire::SpanClass& to = *chunk.add_span_classes();
    to.set_kind(static_cast<uint32_t>(c.kind));
    to.set_stage_plus_1(c.stage.value + 1);
    to.set_cause(static_cast<uint32_t>(c.cause));
    to.set_queue_plus_1(c.queue.value + 1);
  }
  classes_.clear();
  class_cache_.fill({});
  for (TrackId track : open_tracks_) {
    Encode(encoders_[track.value]->Take(), *chunk.add_spans());
  }
  open_tracks_.clear();
  last_track_ = TrackId::None();
  last_spans_ = nullptr;
  ForEachTable(rows_, [&](int number, auto& table) {
    Encode(table, number, chunk);
    table.clear();
  });
  if (seal_) Encode(*seal_, *chunk.mutable_seal());
  seal_.reset();
  span_count_ = 0;
  span_bytes_ = 0;
  size_ = 0;
  std::string payload = chunk.SerializeAsString();
  assert(payload.size() <= kMaxPayload);
  return payload;
}

}  // namespace stallscope::trace
