#include "analyzer/trace/chunk.h"

#include <algorithm>
#include <cassert>
#include <iterator>

#include "analyzer/trace/definitions_codec.h"
#include "analyzer/trace/table_codec.h"
#include "analyzer/trace/trace.pb.h"
#include "analyzer/trace/wire_walk.h"

namespace stallscope::trace {
namespace {

// Grow() takes at least this for a message or a string, so that a full chunk has fewer than
// kMaxMessagesInPayload of them.
constexpr size_t kPartBytes = 16;
static_assert(kFullPayload / kPartBytes + 4 * kMaxArguments + kMaxTalliesInSeal <
              kMaxMessagesInPayload);
constexpr size_t kTallyBytes = 42;
// Even after a builder that is just not full, one more call and the unmeasured spans fit.
static_assert(kFullPayload + kMaxTalliesInSeal * kTallyBytes + kMaxNameBytes +
                  ChunkBuilder::kSpansBetweenMeasures * 58 <
              kMaxPayload);

void Cut(std::string& text, size_t limit) {
  if (text.size() > limit) text.resize(limit);
}

// Keeps as many of `texts` as the limits permit; returns their bound.
size_t CutList(std::vector<std::string>& texts, size_t limit = kMaxListBytes) {
  if (texts.size() > kMaxArguments) texts.resize(kMaxArguments);
  size_t bytes = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    Cut(texts[i], kMaxNameBytes);
    bytes += texts[i].size() + kPartBytes;
    if (bytes > limit) texts.resize(i + 1);
  }
  return bytes;
}

template <class Row>
constexpr size_t kRowBound = kColumnCount<Row> * 10;

void Encode(const Seal& seal, wire::Seal& to) {
  to.set_end_ns(seal.end_ns);
  to.set_first_error(seal.first_error);
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

void Encode(Names&& from, wire::Chunk& chunk, wire::Names* (wire::Chunk::*names_of)()) {
  if (from.empty()) return;
  wire::Names& to = *(chunk.*names_of)();
  for (auto& [id, name] : from) {
    to.add_id(id);
    to.add_name(std::move(name));
  }
}

Error Bad(const std::string& what) {
  return Error{ErrorKind::kInput, what, "", "the chunk is skipped"};
}

Names Decode(wire::Names& from) {
  Names names;
  const int count = std::min(from.id_size(), from.name_size());
  names.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) names.emplace_back(from.id(i), std::move(*from.mutable_name(i)));
  return names;
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

bool ChunkBuilder::UsedNames::IsNew(uint32_t id) {
  if (id >= kMaxStrings) return false;
  if (id >= seen.size()) seen.resize(id + size_t{1});
  if (seen[id]) return false;
  seen[id] = true;
  return true;
}

Names ChunkBuilder::UsedNames::Take() {
  for (const auto& [id, name] : names) seen[id] = false;
  return std::exchange(names, {});
}

size_t ChunkBuilder::SpanClassHash::operator()(const SpanClass& c) const {
  const uint64_t ids = uint64_t{c.stage.value} << 32 | c.queue.value;
  const auto kinds = static_cast<uint64_t>(c.activity) << 5 | static_cast<uint64_t>(c.kind) << 3 |
                     static_cast<uint64_t>(c.cause) | uint64_t{c.name.value + 1} << 8;
  return static_cast<size_t>(((ids * 0x9e3779b97f4a7c15u) ^ kinds) * 0x9e3779b97f4a7c15u >> 32);
}

ChunkBuilder::ChunkBuilder(const NameSource& names) : names_(names) {}

void ChunkBuilder::AddName(UsedNames& used, uint32_t id, std::string name) {
  Cut(name, kMaxNameBytes);
  Grow(name.size() + kPartBytes);
  used.names.emplace_back(id, std::move(name));
}
void ChunkBuilder::Use(StageId id) {
  if (stages_.IsNew(id.value)) AddName(stages_, id.value, names_.StageName(id));
}
void ChunkBuilder::Use(QueueId id) {
  if (queues_.IsNew(id.value)) AddName(queues_, id.value, names_.QueueName(id));
}
void ChunkBuilder::Use(TrackId id) {
  if (tracks_.IsNew(id.value)) AddName(tracks_, id.value, names_.TrackName(id));
}
void ChunkBuilder::Use(CounterId id) {
  if (counters_.IsNew(id.value)) AddName(counters_, id.value, names_.CounterName(id));
}
void ChunkBuilder::Use(StringId id) {
  if (strings_.IsNew(id.value)) AddName(strings_, id.value, names_.String(id));
}

void ChunkBuilder::TurnTo(TrackId track) {
  const auto [place, is_new] = encoders_.try_emplace(track.value, track);
  if (is_new) {
    open_spans_.push_back(&place->second);
    Use(track);
    Grow(8 * kPartBytes);  // itself and its columns, with their tags and lengths
  }
  last_track_ = track;
  last_spans_ = &place->second;
}

uint32_t ChunkBuilder::ClassNumber(const SpanClass& span_class) {
  uint32_t& cached = class_cache_[SpanClassHash()(span_class) & 0xff];
  if (cached != 0 && classes_[cached - 1] == span_class) return cached - 1;
  const auto [place, is_new] =
      class_numbers_.try_emplace(span_class, static_cast<uint32_t>(classes_.size()));
  if (is_new) {
    classes_.push_back(span_class);
    Use(span_class.stage);
    Use(span_class.queue);
    Use(span_class.name);
    Grow(32);
  }
  cached = place->second + 1;
  return place->second;
}

void ChunkBuilder::MeasureSpans() {
  span_bytes_ = 0;
  for (const SpanEncoder* spans : open_spans_) span_bytes_ += spans->Bound();
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
void ChunkBuilder::Add(const Probe& row) {
  rows_.probes.push_back(row);
  Use(row.stage);
  Grow(kRowBound<Probe>);
}

void ChunkBuilder::Define(const RunInfo& run) {
  assert(Empty());
  RunInfo& cut = definitions_.run.emplace(run);
  for (std::string* name :
       {&cut.name, &cut.tool, &cut.data_fingerprint, &cut.digest, &cut.host.name, &cut.host.kernel,
        &cut.host.cpu, &cut.device.kind, &cut.device.name, &cut.device.driver, &cut.tick_source,
        &cut.imported_from, &cut.job.python, &cut.job.checkout}) {
    Cut(*name, kMaxNameBytes);
  }
  Cut(cut.spec_json, kMaxTextBytes);
  Cut(cut.graph_json, kMaxTextBytes);
  constexpr size_t kMaxFrameworks = 16;
  if (cut.job.frameworks.size() > kMaxFrameworks) cut.job.frameworks.resize(kMaxFrameworks);
  for (JobInfo::Framework& framework : cut.job.frameworks) {
    Cut(framework.name, 256);
    Cut(framework.version, 256);
  }
  Grow(CutList(cut.command_line) + CutList(cut.warnings) + CutList(cut.limits) +
       CutList(cut.job.command) + cut.spec_json.size() + cut.graph_json.size() +
       14 * kMaxNameBytes + kMaxFrameworks * (2 * 256 + 2 * kPartBytes) + 256);
}
void ChunkBuilder::Define(const StageInfo& stage) {
  StageInfo& cut = definitions_.stages.emplace_back(stage);
  Cut(cut.name, kMaxNameBytes);
  Cut(cut.kind, kMaxNameBytes);
  if (cut.inputs.size() > kMaxStages) cut.inputs.resize(kMaxStages);
  std::erase_if(cut.settings,
                [](const auto& setting) { return setting.first.size() > kMaxSettingBytes; });
  while (cut.settings.size() > kMaxStageSettings) cut.settings.erase(std::prev(cut.settings.end()));
  size_t settings_bytes = 0;
  for (auto& [name, value] : cut.settings) {
    Cut(value, kMaxSettingBytes);
    settings_bytes += name.size() + value.size() + 2 * kPartBytes;
  }
  Grow(cut.name.size() + cut.kind.size() + cut.inputs.size() * 5 + settings_bytes + 3 * kPartBytes);
}
void ChunkBuilder::Define(const QueueInfo& queue) {
  QueueInfo& cut = definitions_.queues.emplace_back(queue);
  Cut(cut.name, kMaxNameBytes);
  Grow(cut.name.size() + 2 * kPartBytes);
}
void ChunkBuilder::Define(const TrackInfo& track) {
  TrackInfo& cut = definitions_.tracks.emplace_back(track);
  Cut(cut.name, kMaxNameBytes);
  Grow(cut.name.size() + 3 * kPartBytes);
}
void ChunkBuilder::Define(const CounterInfo& counter) {
  CounterInfo& cut = definitions_.counters.emplace_back(counter);
  Cut(cut.name, kMaxNameBytes);
  Cut(cut.unit, kMaxNameBytes);
  Grow(cut.name.size() + cut.unit.size() + 3 * kPartBytes);
}

void ChunkBuilder::Define(const ProcessInfo& process) {
  ProcessInfo& cut = definitions_.processes.emplace_back(process);
  Cut(cut.name, kMaxNameBytes);
  Grow(cut.name.size() + CutList(cut.arguments, kMaxNameBytes) + 4 * kPartBytes);
}
void ChunkBuilder::Define(const LoaderInfo& loader) {
  LoaderInfo& cut = definitions_.loaders.emplace_back(loader);
  for (std::string* text : {&cut.kind, &cut.dataset, &cut.file, &cut.settings_json}) {
    Cut(*text, kMaxNameBytes);
  }
  if (cut.call.source.size() > kMaxNameBytes) cut.call.source.clear();  // a part would be useless
  Grow(cut.kind.size() + cut.dataset.size() + cut.file.size() + cut.settings_json.size() +
       CutList(cut.call.names, kMaxNameBytes) + CutList(cut.call.parameters, kMaxNameBytes) +
       CutList(cut.call.keywords, kMaxNameBytes) + cut.call.source.size() + 14 * kPartBytes);
}
void ChunkBuilder::Define(const OpInfo& op) {
  OpInfo& cut = definitions_.ops.emplace_back(op);
  Cut(cut.name, kMaxNameBytes);
  Cut(cut.file, kMaxNameBytes);
  Grow(cut.name.size() + cut.file.size() + 3 * kPartBytes);
}
void ChunkBuilder::Define(const CodeLines& lines) {
  constexpr size_t kLineBytes = 5 + 10 + 10;
  CodeLines& cut = definitions_.code_lines.emplace_back(lines);
  Cut(cut.file, kMaxNameBytes);
  if (cut.lines.size() > kMaxLinesOfFunction) cut.lines.resize(kMaxLinesOfFunction);
  Grow(cut.file.size() + cut.lines.size() * kLineBytes + 5 * kPartBytes);
}

void Merge(const CodeLines& from, CodeLines& to) {
  for (const CodeLines::Line& line : from.lines) {
    auto at =
        std::lower_bound(to.lines.begin(), to.lines.end(), line.line,
                         [](const auto& known, uint32_t number) { return known.line < number; });
    if (at == to.lines.end() || at->line != line.line) {
      if (to.lines.size() >= kMaxLinesOfFunction) continue;
      at = to.lines.insert(at, {line.line, 0, 0});
    }
    at->ns += line.ns;
    at->samples += line.samples;
  }
}

void ChunkBuilder::SetSeal(const Seal& seal) {
  Seal& cut = seal_.emplace(seal);
  Cut(cut.first_error, kMaxNameBytes);
  if (cut.tallies.size() > kMaxTalliesInSeal) {
    Tally rest;
    for (size_t i = kMaxTalliesInSeal - 1; i < cut.tallies.size(); ++i) {
      rest.emitted += cut.tallies[i].emitted;
      rest.stored += cut.tallies[i].stored;
      rest.dropped += cut.tallies[i].dropped;
    }
    cut.tallies.resize(kMaxTalliesInSeal - 1);
    cut.tallies.push_back(rest);
  }
  Grow(cut.tallies.size() * kTallyBytes + cut.first_error.size() + 32);
}

std::string ChunkBuilder::Finish(const Anchor& anchor) {
  wire::Chunk chunk;
  wire::ClockAnchor& clock = *chunk.mutable_anchor();
  clock.set_ticks(anchor.ticks);
  clock.set_monotonic_ns(anchor.monotonic_ns);
  clock.set_realtime_ns(anchor.realtime_ns);

  Encode(stages_.Take(), chunk, &wire::Chunk::mutable_stage_names);
  Encode(queues_.Take(), chunk, &wire::Chunk::mutable_queue_names);
  Encode(tracks_.Take(), chunk, &wire::Chunk::mutable_track_names);
  Encode(counters_.Take(), chunk, &wire::Chunk::mutable_counter_names);
  Encode(strings_.Take(), chunk, &wire::Chunk::mutable_strings);
  Encode(definitions_, *chunk.mutable_definitions());
  if (chunk.definitions().ByteSizeLong() == 0) chunk.clear_definitions();
  definitions_ = {};
  for (const SpanClass& c : classes_) {
    wire::SpanClass& to = *chunk.add_span_classes();
    to.set_kind(static_cast<uint32_t>(c.kind));
    to.set_stage_plus_1(c.stage.value + 1);
    to.set_cause(static_cast<uint32_t>(c.cause));
    to.set_queue_plus_1(c.queue.value + 1);
    to.set_name_plus_1(c.name.value + 1);
    to.set_activity(static_cast<uint32_t>(c.activity));
  }
  classes_.clear();
  class_numbers_.clear();
  class_cache_.fill(0);
  for (SpanEncoder* spans : open_spans_) Encode(spans->Take(), *chunk.add_spans());
  open_spans_.clear();
  encoders_.clear();
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

Result<Chunk> DecodeChunk(std::string_view payload) {
  if (payload.size() > kMaxPayload) return Bad("a payload of more than 1 MiB");
  const std::optional<size_t> messages = CountMessages(payload);
  if (!messages) return Bad("a payload that is not a chunk");
  if (*messages > kMaxMessagesInPayload) return Bad("a payload with too many parts");
  wire::Chunk wire_chunk;
  if (!wire_chunk.ParseFromArray(payload.data(), static_cast<int>(payload.size()))) {
    return Bad("a payload that is not a chunk");
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
         c.cause() > 6 ? WaitCause::kUnknown : static_cast<WaitCause>(c.cause()),
         QueueId{c.queue_plus_1() - 1}, StringId{c.name_plus_1() - 1},
         c.activity() > 8 ? SpanActivity::kNone : static_cast<SpanActivity>(c.activity())});
  }
  for (wire::Spans& spans : *wire_chunk.mutable_spans()) chunk.spans.push_back(Decode(spans));
  bool good = true;
  ForEachTable(chunk.rows,
               [&](int number, auto& table) { good = good && Decode(number, wire_chunk, table); });
  if (!good) return Bad("a table whose columns do not match its row count");
  if (wire_chunk.has_seal()) chunk.seal = Decode(wire_chunk.seal());
  return chunk;
}

}  // namespace stallscope::trace
