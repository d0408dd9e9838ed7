#include "analyzer/model/assembler.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "analyzer/base/saturated.h"
#include "analyzer/model/job_spec.h"
#include "analyzer/model/mappers.h"
#include "analyzer/model/ranks.h"
#include "analyzer/model/row_fields.h"
#include "analyzer/model/trainers.h"
#include "analyzer/trace/limits.h"

namespace stallscope::model {
namespace {

void SetId(trace::StageInfo& stage, uint32_t id) { stage.id = StageId{id}; }
void SetId(Queue& queue, uint32_t id) { queue.info.id = QueueId{id}; }
void SetId(Track& track, uint32_t id) { track.info.id = TrackId{id}; }
void SetId(trace::CounterInfo& counter, uint32_t id) { counter.id = CounterId{id}; }
void SetId(trace::ProcessInfo& process, uint32_t id) { process.id = ProcessId{id}; }
void SetId(Loader& loader, uint32_t id) { loader.info.id = LoaderId{id}; }

std::string& NameIn(trace::StageInfo& stage) { return stage.name; }
std::string& NameIn(Queue& queue) { return queue.info.name; }
std::string& NameIn(Track& track) { return track.info.name; }
std::string& NameIn(trace::CounterInfo& counter) { return counter.name; }
std::string& NameIn(trace::ProcessInfo& process) { return process.name; }

template <class Number>
void ReserveOptional(const std::string& encoded, uint64_t expected, std::vector<Number>& column) {
  if (!encoded.empty() && column.capacity() < expected) column.reserve(expected);
}

template <class T>
void Take(T& from, T& to) {
  if (from != T{}) to = std::move(from);
}

}  // namespace

void Update(trace::RunInfo& run, trace::RunInfo later) {
  Take(later.name, run.name);
  Take(later.tool, run.tool);
  Take(later.command_line, run.command_line);
  Take(later.spec_json, run.spec_json);
  Take(later.graph_json, run.graph_json);
  Take(later.seed, run.seed);
  Take(later.data_fingerprint, run.data_fingerprint);
  Take(later.digest, run.digest);
  Take(later.host.name, run.host.name);
  Take(later.host.kernel, run.host.kernel);
  Take(later.host.cpu, run.host.cpu);
  Take(later.host.cores_online, run.host.cores_online);
  Take(later.host.cores_allowed, run.host.cores_allowed);
  Take(later.host.cgroup_cores, run.host.cgroup_cores);
  Take(later.host.memory_bytes, run.host.memory_bytes);
  Take(later.host.memory_limit_bytes, run.host.memory_limit_bytes);
  Take(later.device.kind, run.device.kind);
  Take(later.device.name, run.device.name);
  Take(later.device.memory_bytes, run.device.memory_bytes);
  Take(later.device.driver, run.device.driver);
  Take(later.device.peak_memory_bytes, run.device.peak_memory_bytes);
  Take(later.device.peak_flops_per_s, run.device.peak_flops_per_s);
  Take(later.tick_source, run.tick_source);
  Take(later.ticks_per_second, run.ticks_per_second);
  Take(later.start_ns, run.start_ns);
  Take(later.start_realtime_ns, run.start_realtime_ns);
  Take(later.end_ns, run.end_ns);
  Take(later.process, run.process);
  Take(later.rank, run.rank);
  Take(later.world_size, run.world_size);
  Take(later.warnings, run.warnings);
  Take(later.imported_from, run.imported_from);
  Take(later.limits, run.limits);
  Take(later.flops_per_step, run.flops_per_step);
  Take(later.folder, run.folder);
  Take(later.origin, run.origin);
  Take(later.job, run.job);
}

void Expected::Add(const trace::ChunkCounts& counts) {
  for (const auto& [track, count] : counts.spans) {
    if (track.value < trace::kMaxTracks) spans[track] += count;
  }
  for (const auto& [table, count] : counts.rows) rows[table] += count;
}

Assembler::Assembler() : strings_(run_.strings), classes_(run_.span_classes) {}

void Assembler::LeaveOut(const char* what) {
  ++run_.quality.left_out;
  ++left_out_[what];
}

std::vector<std::string> Assembler::LimitWarnings() const {
  std::vector<std::string> warnings;
  for (const auto& [what, count] : left_out_) {
    warnings.push_back("more than " + what + ": what is past them was left out, in " +
                       std::to_string(count) + (count == 1 ? " place" : " places"));
  }
  return warnings;
}

// Makes room for `index` in the table, unless it is past the limit.
template <class Table>
bool Assembler::Admit(Table& table, uint32_t index, size_t limit, const char* what) {
  if (index < table.size()) return true;
  if (index >= limit) {
    LeaveOut(what);
    return false;
  }
  for (size_t i = table.size(); i <= index; ++i) {
    table.emplace_back();
    SetId(table.back(), static_cast<uint32_t>(i));
  }
  return true;
}

template <class Table, class IdType>
IdType Assembler::Known(Table& table, IdType id, size_t limit, const char* what) {
  if (id.value < table.size()) [[likely]] {
    return id;
  }
  if (!id.known()) return id;
  return Admit(table, id.value, limit, what) ? id : IdType::None();
}

constexpr const char* kStagesWord = "4,096 stages";
constexpr const char* kQueuesWord = "8,191 queues";
constexpr const char* kTracksWord = "65,536 tracks";
constexpr const char* kCountersWord = "16,384 counters";
constexpr const char* kProcessesWord = "16,384 processes";
constexpr const char* kLoadersWord = "1,024 loaders";
constexpr const char* kOpsWord = "65,536 ops";
constexpr const char* kFunctionsWord = "4,096 functions";
static_assert(trace::kMaxStages == 4'096 && trace::kMaxQueues == 8'191);
static_assert(trace::kMaxTracks == 65'536 && trace::kMaxCounters == 16'384);
static_assert(trace::kMaxProcesses == 16'384 && trace::kMaxLoaders == 1'024);
static_assert(trace::kMaxOps == 65'536);

StageId Assembler::Known(StageId id) {
  return Known(run_.stages, id, trace::kMaxStages, kStagesWord);
}
QueueId Assembler::Known(QueueId id) {
  return Known(run_.queues, id, trace::kMaxQueues, kQueuesWord);
}
TrackId Assembler::Known(TrackId id) {
  return Known(run_.tracks, id, trace::kMaxTracks, kTracksWord);
}
CounterId Assembler::Known(CounterId id) {
  return Known(run_.counters, id, trace::kMaxCounters, kCountersWord);
}
ProcessId Assembler::Known(ProcessId id) {
  return Known(run_.processes, id, trace::kMaxProcesses, kProcessesWord);
}
LoaderId Assembler::Known(LoaderId id) {
  return Known(run_.loaders, id, trace::kMaxLoaders, kLoadersWord);
}

void Assembler::Reserve(const Expected& expected) {
  expected_spans_ = expected.spans;
  for (const auto& [track, count] : expected.spans) {
    if (Known(track).known()) run_.tracks[track.value].spans.Reserve(count);
  }
  trace::ForEachTable(run_.rows, [&](int number, auto& table) {
    const auto found = expected.rows.find(number);
    if (found != expected.rows.end()) table.reserve(found->second);
  });
}

bool Assembler::Add(trace::Chunk chunk) {
  AddNames(chunk);
  AddStrings(chunk.strings);
  AddDefinitions(std::move(chunk.definitions));
  const bool good = AddSpans(chunk);
  trace::ForEachTable(chunk.rows, [&](int number, auto& from) {
    trace::ForEachTable(run_.rows, [&](int other, auto& to) {
      if constexpr (std::is_same_v<decltype(from), decltype(to)>) {
        if (number == other) AddRows(from, to);
      }
    });
  });
  if (chunk.seal) AddSeal(*std::move(chunk.seal));
  return good;
}

// A definition overrides these: it may be in a later chunk, or lost.
void Assembler::AddNames(const trace::Chunk& chunk) {
  const auto name = [&](auto& table, const trace::Names& names, size_t limit, const char* what) {
    for (const auto& [id, text] : names) {
      if (!Admit(table, id, limit, what)) continue;
      std::string& place = NameIn(table[id]);
      if (place.empty()) place = text.substr(0, trace::kMaxNameBytes);
    }
  };
  name(run_.stages, chunk.stage_names, trace::kMaxStages, kStagesWord);
  name(run_.queues, chunk.queue_names, trace::kMaxQueues, kQueuesWord);
  name(run_.tracks, chunk.track_names, trace::kMaxTracks, kTracksWord);
  name(run_.counters, chunk.counter_names, trace::kMaxCounters, kCountersWord);
}

void Assembler::AddStrings(const trace::Names& names) {
  chunk_strings_.clear();
  for (const auto& [id, text] : names) {
    const trace::StringId number = strings_.Intern(text);
    if (!number.known()) LeaveOut("1,048,576 strings");
    chunk_strings_[id] = number;
  }
  static_assert(trace::kMaxStrings == 1'048'576);
}

void Assembler::AddDefinitions(trace::Definitions definitions) {
  if (definitions.run) Update(run_.info, *std::move(definitions.run));
  const auto take = [](std::string& place, std::string& text) {
    if (!text.empty()) place = text.substr(0, trace::kMaxNameBytes);
  };
  for (trace::StageInfo& from : definitions.stages) {
    if (!Admit(run_.stages, from.id.value, trace::kMaxStages, kStagesWord)) continue;
    for (StageId& input : from.inputs) input = Known(input);
    std::erase(from.inputs, StageId::None());
    trace::StageInfo& to = run_.stages[from.id.value];
    take(to.name, from.name);
    take(to.kind, from.kind);
    to.inputs = std::move(from.inputs);
    to.queue = Known(from.queue);
    to.workers = from.workers;
    to.ordered = from.ordered;
    to.loader = Known(from.loader);
    to.tuned = from.tuned;
    to.settings = std::move(from.settings);
  }
  for (trace::QueueInfo& from : definitions.queues) {
    if (!Admit(run_.queues, from.id.value, trace::kMaxQueues, kQueuesWord)) continue;
    trace::QueueInfo& to = run_.queues[from.id.value].info;
    take(to.name, from.name);
    to.capacity = from.capacity;
    to.lock = from.lock;
  }
  for (trace::TrackInfo& from : definitions.tracks) {
    if (!Admit(run_.tracks, from.id.value, trace::kMaxTracks, kTracksWord)) continue;
    trace::TrackInfo& to = run_.tracks[from.id.value].info;
    take(to.name, from.name);
    to.kind = from.kind;
    to.stage = Known(from.stage);
    to.thread = from.thread;
    to.device = from.device;
    to.process = Known(from.process);
  }
  for (trace::CounterInfo& from : definitions.counters) {
    if (!Admit(run_.counters, from.id.value, trace::kMaxCounters, kCountersWord)) continue;
    trace::CounterInfo& to = run_.counters[from.id.value];
    take(to.name, from.name);
    take(to.unit, from.unit);
    to.process = Known(from.process);
  }
  AddJobDefinitions(std::move(definitions));
}

void Assembler::AddJobDefinitions(trace::Definitions definitions) {
  for (trace::ProcessInfo& from : definitions.processes) {
    if (!Admit(run_.processes, from.id.value, trace::kMaxProcesses, kProcessesWord)) continue;
    trace::ProcessInfo& to = run_.processes[from.id.value];
    Take(from.name, to.name);
    Take(from.pid, to.pid);
    Take(from.parent, to.parent);
    Take(from.arguments, to.arguments);
    Take(from.start_ns, to.start_ns);
    Take(from.end_ns, to.end_ns);
    if (from.rank) to.rank = from.rank;
    Take(from.ranks_of_host, to.ranks_of_host);
  }
  for (trace::LoaderInfo& from : definitions.loaders) {
    if (!Admit(run_.loaders, from.id.value, trace::kMaxLoaders, kLoadersWord)) continue;
    trace::LoaderInfo& to = run_.loaders[from.id.value].info;
    from.process = Known(from.process);
    Take(from.process, to.process);
    Take(from.kind, to.kind);
    Take(from.dataset, to.dataset);
    Take(from.file, to.file);
    Take(from.line, to.line);
    Take(from.settings_json, to.settings_json);
    Take(from.call, to.call);
  }
  for (trace::OpInfo& op : definitions.ops) {
    if (run_.ops.size() >= trace::kMaxOps) {
      LeaveOut(kOpsWord);
    } else if (op_names_.insert(op.name).second) {
      run_.ops.push_back(std::move(op));
    }
  }
  for (trace::CodeLines& code : definitions.code_lines) {
    const auto [at, is_new] =
        functions_.try_emplace({code.file, code.first_line}, run_.code_lines.size());
    if (!is_new) {
      if (at->second < run_.code_lines.size()) run_.code_lines[at->second] = std::move(code);
    } else if (run_.code_lines.size() < trace::kMaxCodeLines) {
      run_.code_lines.push_back(std::move(code));
    } else {
      functions_.erase(at);
      LeaveOut(kFunctionsWord);
    }
  }
}

void Assembler::AddSeal(trace::Seal seal) {
  DataQuality& quality = run_.quality;
  // A seal of very many tracks is written in parts, and only the last part has an end.
  if (seal.end_ns != 0) quality.sealed = true;
  for (const trace::Tally& tally : seal.tallies) {
    quality.emitted = SaturatedSum(quality.emitted.value_or(0), tally.emitted);
    quality.stored = SaturatedSum(quality.stored.value_or(0), tally.stored);
    quality.dropped = SaturatedSum(quality.dropped, tally.dropped);
    const TrackId track = Known(tally.track);
    if (track.known()) run_.tracks[track.value].tally = tally;
  }
  quality.write_error = std::move(seal.first_error);
  if (run_.info.end_ns == 0) run_.info.end_ns = seal.end_ns;
}

bool Assembler::AddSpans(const trace::Chunk& chunk) {
  std::vector<uint16_t> classes;
  bool all_known = true;
  for (trace::SpanClass span_class : chunk.span_classes) {
    span_class.stage = Known(span_class.stage);
    span_class.queue = Known(span_class.queue);
    Check(span_class.name);
    const std::optional<uint16_t> number = classes_.Intern(span_class);
    all_known = number.has_value();
    // Spans of this class and those behind it are refused by AppendSpans below.
    if (!all_known) break;
    classes.push_back(*number);
  }
  bool good = true;
  for (const trace::EncodedSpans& encoded : chunk.spans) {
    const TrackId track = Known(encoded.track);
    if (!track.known()) continue;
    trace::SpanColumns& spans = run_.tracks[track.value].spans;
    const auto found = expected_spans_.find(track);
    const uint64_t expected = found == expected_spans_.end() ? 0 : found->second;
    ReserveOptional(encoded.bytes, expected, spans.bytes);
    ReserveOptional(encoded.cpu_ns, expected, spans.cpu_ns);
    ReserveOptional(encoded.waker, expected, spans.waker);
    const size_t before = spans.size();
    if (!trace::AppendSpans(encoded, classes, spans)) {
      if (all_known) good = false;
      if (!all_known) LeaveOut("65,535 kinds of spans");
      continue;
    }
    if (encoded.waker.empty()) continue;
    std::vector<uint32_t>& wakers = spans.waker;
    const auto fresh = wakers.begin() + static_cast<ptrdiff_t>(before);
    // A waker may be a track that has not been heard of; looking for the largest first keeps the
    // usual case a scan at the speed of memory.
    if (fresh == wakers.end() || *std::max_element(fresh, wakers.end()) <= run_.tracks.size()) {
      continue;
    }
    std::vector<uint32_t> checked(fresh, wakers.end());
    for (uint32_t& waker : checked) {
      if (waker != 0) waker = Known(TrackId{waker - 1}).value + 1;
    }
    // Known() may have moved the tracks.
    std::copy(checked.begin(), checked.end(),
              run_.tracks[track.value].spans.waker.begin() + static_cast<ptrdiff_t>(before));
  }
  static_assert(trace::kMaxSpanClasses == 65'535);
  return good;
}

template <class Field>
void Assembler::Check(Field& field) {
  if constexpr (requires { Known(field); }) {
    field = Known(field);
  } else if constexpr (std::is_same_v<Field, trace::StringId>) {
    if (!field.known()) return;
    const auto found = chunk_strings_.find(field.value);
    field = found == chunk_strings_.end() ? trace::StringId::None() : found->second;
  }
}

template <class Row>
void Assembler::AddRows(std::vector<Row>& from, std::vector<Row>& to) {
  for (Row& row : from) {
    ForEachField(row, [&](auto& field) { Check(field); });
  }
  to.insert(to.end(), from.begin(), from.end());
}

namespace {

// As Run::ranks_of_host has it, by the launcher's variables. Several ranks in this recording are
// all: a rank may also start some by itself, which have its number.
uint32_t RanksRecordedApart(const Run& run) {
  if (!run.step_ranks.empty()) return 0;
  std::set<uint32_t> here;
  uint32_t of_host = 0;
  for (const trace::ProcessInfo& process : run.processes) {
    if (process.rank.has_value()) here.insert(*process.rank);
    of_host = std::max(of_host, process.ranks_of_host);
  }
  return of_host > here.size() ? of_host : 0;
}

void NameTheNameless(Run& run) {
  const auto name = [](auto& table, const char* word) {
    for (size_t i = 0; i < table.size(); ++i) {
      std::string& place = NameIn(table[i]);
      if (place.empty()) place = word + std::to_string(i);
    }
  };
  name(run.stages, "stage ");
  name(run.queues, "queue ");
  name(run.tracks, "track ");
  name(run.counters, "counter ");
  name(run.processes, "process ");
}

// The loader that fed most steps is the one that is meant where only one is.
void NameLoaders(Run& run) {
  const auto others = OtherBatches(run);
  for (const trace::Step& step : run.rows.steps) {
    std::set<uint64_t> fed_by = {LoaderOfBatch(step.batch)};
    if (const auto more = others.find(step.batch.value); more != others.end()) {
      for (const ItemId batch : more->second) fed_by.insert(LoaderOfBatch(batch));
    }
    for (const uint64_t loader : fed_by) {
      if (loader < run.loaders.size()) ++run.loaders[loader].steps;
    }
  }
  // Those of other trainers that are the same count with the first of them.
  std::vector<uint64_t> fed(run.loaders.size());
  std::vector<Loader*> order;
  for (Loader& loader : run.loaders) {
    const LoaderId named = loader.same_as.known() ? loader.same_as : loader.info.id;
    fed[named.value] += loader.steps;
    if (!loader.same_as.known()) order.push_back(&loader);
  }
  std::stable_sort(order.begin(), order.end(), [&](const Loader* a, const Loader* b) {
    const uint64_t fed_a = fed[a->info.id.value];
    const uint64_t fed_b = fed[b->info.id.value];
    return fed_a != fed_b ? fed_a > fed_b : a->rank < b->rank;
  });
  for (size_t i = 0; i < order.size(); ++i) {
    order[i]->name = i == 0 ? "loader" : "loader" + std::to_string(i + 1);
  }
  for (Loader& loader : run.loaders) {
    if (!loader.same_as.known()) continue;
    const Loader& same = run.loaders[loader.same_as.value];
    const std::string process = std::to_string(
        loader.info.process.known() ? run.processes[loader.info.process.value].pid : 0);
    loader.name = loader.rank != same.rank ? NameOnRank(loader.rank, same.name)
                                           : same.name + " of process " + process;
  }
  for (trace::StageInfo& stage : run.stages) {
    if (!stage.loader.known()) continue;
    const std::string& name = run.loaders[stage.loader.value].name;
    const std::string prefix = name + ".";
    if (name != "loader" && !stage.name.starts_with(prefix)) stage.name.insert(0, prefix);
  }
}

// Sorts a track's spans by their ends, since searches rely on that. Without an optimizer a job's
// step is recognized some steps later, and the trainer's spans are written then.
void OrderByEnd(trace::SpanColumns& spans) {
  const size_t size = spans.size();
  size_t ordered = 1;
  while (ordered < size && spans.EndNs(ordered) >= spans.EndNs(ordered - 1)) ++ordered;
  if (ordered >= size) return;
  std::vector<std::pair<int64_t, size_t>> order;
  order.reserve(size);
  for (size_t i = 0; i < size; ++i) order.emplace_back(spans.EndNs(i), i);
  std::sort(order.begin(), order.end());
  spans.PadOptional();
  trace::SpanColumns to;
  to.Reserve(size);
  for (const auto& [end_ns, from] : order) {
    if (spans.duration[from] == trace::SpanColumns::kLongDuration) {
      to.long_durations.emplace_back(to.size(), spans.DurationNs(from));
    }
    to.start_ns.push_back(spans.start_ns[from]);
    to.duration.push_back(spans.duration[from]);
    to.span_class.push_back(spans.span_class[from]);
    to.item.push_back(spans.item[from]);
    if (!spans.bytes.empty()) to.bytes.push_back(spans.bytes[from]);
    if (!spans.cpu_ns.empty()) to.cpu_ns.push_back(spans.cpu_ns[from]);
    if (!spans.waker.empty()) to.waker.push_back(spans.waker[from]);
  }
  spans = std::move(to);
}

Run Finished(Run run, Trainers trainers) {
  NameTheNameless(run);
  const bool job = !run.info.job.command.empty();
  for (Track& track : run.tracks) {
    track.rank = run.info.rank;
    track.spans.PadOptional();
    if (job && track.info.kind == trace::TrackKind::kThread) OrderByEnd(track.spans);
  }
  for (Queue& queue : run.queues) queue.rank = run.info.rank;
  for (const trace::StageInfo& stage : run.stages) {
    if (!stage.queue.known()) continue;
    Queue& queue = run.queues[stage.queue.value];
    if (!queue.producer.known()) queue.producer = stage.id;
  }
  std::sort(run.rows.steps.begin(), run.rows.steps.end(),
            [](const trace::Step& a, const trace::Step& b) {
              return std::pair{a.index, a.requested_ns} < std::pair{b.index, b.requested_ns};
            });
  if (trainers == Trainers::kSeparate) {
    SeparateTrainers(run);
    NameLoaders(run);
    ChooseMappers(run);
    run.ranks_of_host = RanksRecordedApart(run);
  }
  std::sort(run.rows.gaps.begin(), run.rows.gaps.end(),
            [](const trace::Gap& a, const trace::Gap& b) {
              return std::pair{a.track, a.from_ns} < std::pair{b.track, b.from_ns};
            });
  if (!run.quality.sealed) {
    run.quality.emitted.reset();
    run.quality.stored.reset();
    run.quality.dropped = 0;
    for (const trace::Gap& gap : run.rows.gaps) {
      run.quality.dropped = SaturatedSum(run.quality.dropped, gap.dropped);
    }
  }
  return run;
}

}  // namespace

Run Assembler::Finish(Trainers trainers) { return Finished(std::move(run_), trainers); }

Run Assembler::Snapshot() const { return Finished(run_, Trainers::kSeparate); }

}  // namespace stallscope::model
