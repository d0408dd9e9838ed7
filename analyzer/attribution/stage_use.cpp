#include "analyzer/attribution/stage_use.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "analyzer/base/thread.h"
#include "analyzer/base/units.h"
#include "analyzer/spec/spec_json.h"

namespace stallscope::attribution {
namespace {

// A stage's threads that did anything, and how long they waited.
struct Threads {
  size_t count = 0;
  int64_t empty_ns = 0;
  int64_t full_ns = 0;
};

std::map<StageId, Threads> ThreadsByStage(const std::vector<TrackView>& views,
                                          const SpanTotals& totals) {
  std::map<StageId, Threads> threads;
  for (size_t t = 0; t < views.size(); ++t) {
    const model::Track& track = views[t].track();
    if (track.info.kind != trace::TrackKind::kThread || track.spans.size() == 0) continue;
    Threads& mine = threads[track.info.stage];
    ++mine.count;
    mine.empty_ns += totals.tracks[t].empty_ns;
    mine.full_ns += totals.tracks[t].full_ns;
  }
  return threads;
}

// The stage in whose threads most of a stage's work was done.
std::map<StageId, StageId> Owners(const SpanTotals& totals) {
  std::map<StageId, std::pair<uint64_t, StageId>> most;
  for (const auto& [key, work] : totals.work) {
    auto& best = most[key.second];
    if (work.service.count() >= best.first) best = {work.service.count(), key.first};
  }
  std::map<StageId, StageId> owners;
  for (const auto& [stage, best] : most) owners[stage] = best.second;
  return owners;
}

uint32_t MostWorkers(const model::Run& run, const trace::StageInfo& stage) {
  uint32_t workers = std::max<uint32_t>(stage.workers, 1);
  const std::string path = stage.name + ".parallelism";
  for (const trace::KnobChange& change : run.rows.knobs) {
    if (run.Text(change.path) != path) continue;
    const std::string_view value = run.Text(change.new_value);
    uint32_t number = 0;  // stays where the value is none, or too large for one
    std::from_chars(value.data(), value.data() + value.size(), number);
    workers = std::max(workers, number);
  }
  return workers;
}

// By the utilization law: workers / demand. The CPU part of the demand is limited by the cores, and
// waiting for a core is not demand.
std::optional<double> Capacity(const StageUse& use, uint64_t samples, double cores) {
  if (samples == 0 || use.busy_ns <= 0) return std::nullopt;
  const double demand =
      static_cast<double>(use.busy_ns - use.contention_ns) / static_cast<double>(samples);
  const double cpu = static_cast<double>(use.cpu_ns) / static_cast<double>(samples);
  if (demand <= 0) return std::nullopt;
  double workers = use.workers;
  if (use.held.has_value() && *use.held > 0) workers = std::min(workers, 1 / *use.held);
  double capacity = workers / demand;
  if (cpu > 0 && cores > 0) capacity = std::min(capacity, cores / cpu);
  return capacity * static_cast<double>(kNsPerSecond);
}

// The device's time counts, not that of the thread which issues its work.
std::optional<double> TrainerCapacity(const Window& window, uint64_t samples, int64_t stall_ns) {
  const int64_t works_ns = window.ns() - stall_ns;
  if (samples == 0 || works_ns <= 0) return std::nullopt;
  return static_cast<double>(samples) * static_cast<double>(kNsPerSecond) /
         static_cast<double>(works_ns);
}

// Events are flushed a tenth of a second at a time, thread by thread: in the file an event is at
// most some thousands of others away from its place in time. So a queue's events are sorted as they
// come, this many at a time, and the later half waits for events that may still come in between.
constexpr size_t kPending = 65'536;
constexpr size_t kMostThreads = 4;

struct Depth {
  int64_t time_ns;
  uint32_t depth;
};

// Not a function pointer: it is called some hundred million times.
struct Before {
  bool operator()(const Depth& a, const Depth& b) const { return a.time_ns < b.time_ns; }
};

class DepthOverTime {
 public:
  // Events that are not `in_order`, as far as a file has one, are all kept until the end.
  DepthOverTime(const Window& window, uint64_t capacity, bool in_order = true)
      : window_(window),
        capacity_(capacity),
        most_pending_(in_order ? kPending : std::numeric_limits<size_t>::max()) {}

  // False if it is earlier than what has already been counted.
  bool Add(Depth event) {
    if (event.time_ns < counted_until_) return false;
    pending_.push_back(event);
    if (pending_.size() >= most_pending_) Count(pending_.size() / 2);
    return true;
  }
  void Finish(QueueUse& use) {
    Count(pending_.size());
    if (last_.has_value()) Lasts(*last_, window_.end_ns);
    if (seen_ns_ == 0) return;
    const auto whole = static_cast<double>(seen_ns_);
    use.mean = area_ / whole;
    use.empty = static_cast<double>(empty_ns_) / whole;
    if (capacity_ > 0) use.full = static_cast<double>(full_ns_) / whole;
  }

 private:
  void Count(size_t events) {
    if (events == 0) return;
    MergeRuns(pending_, Before());
    for (size_t i = 0; i < events; ++i) {
      if (last_.has_value()) Lasts(*last_, pending_[i].time_ns);
      last_ = pending_[i];
    }
    counted_until_ = last_->time_ns;
    pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(events));
  }
  void Lasts(const Depth& depth, int64_t until_ns) {
    const int64_t ns =
        std::min(until_ns, window_.end_ns) - std::max(depth.time_ns, window_.start_ns);
    if (ns <= 0) return;
    seen_ns_ += ns;
    area_ += static_cast<double>(depth.depth) * static_cast<double>(ns);
    if (depth.depth == 0) empty_ns_ += ns;
    if (capacity_ > 0 && depth.depth >= capacity_) full_ns_ += ns;
  }

  Window window_;
  uint64_t capacity_;
  size_t most_pending_;
  std::vector<Depth> pending_;
  std::optional<Depth> last_;  // counted up to its time
  int64_t counted_until_ = std::numeric_limits<int64_t>::min();
  int64_t seen_ns_ = 0;
  int64_t empty_ns_ = 0;
  int64_t full_ns_ = 0;
  double area_ = 0;
};

// Of each `step`th queue from `first` on.
void MeasureSome(const model::Run& run, const Window& window, size_t first, size_t step,
                 std::vector<QueueUse>& uses) {
  std::vector<std::optional<DepthOverTime>> depths(run.queues.size());
  for (size_t q = first; q < depths.size(); q += step) {
    depths[q].emplace(window, run.queues[q].info.capacity);
  }
  std::vector<bool> disordered(depths.size());
  for (const trace::QueueEvent& event : run.rows.queue_events) {
    if (!event.queue.known()) continue;
    const size_t q = event.queue.value;
    if (q % step != first) continue;
    const bool inside = event.time_ns >= window.start_ns && event.time_ns < window.end_ns;
    if (inside && event.op == trace::QueueOp::kPush) ++uses[q].pushed;
    if (!depths[q].has_value() || depths[q]->Add({event.time_ns, event.depth})) continue;
    disordered[q] = true;
    depths[q].reset();
  }
  if (std::find(disordered.begin(), disordered.end(), true) != disordered.end()) {
    for (size_t q = first; q < depths.size(); q += step) {
      if (disordered[q]) depths[q].emplace(window, run.queues[q].info.capacity, false);
    }
    for (const trace::QueueEvent& event : run.rows.queue_events) {
      if (!event.queue.known() || !disordered[event.queue.value]) continue;
      depths[event.queue.value]->Add({event.time_ns, event.depth});
    }
  }
  for (size_t q = first; q < depths.size(); q += step) depths[q]->Finish(uses[q]);
}

}  // namespace

std::vector<bool> SerialStages(const model::Run& run) {
  constexpr std::array<std::string_view, 8> kKinds = {
      "serial", "shuffle", "filter", "shard", "repeat", "bucket_by_length", "cache", "snapshot"};
  std::set<std::string> sources;
  const Result<Spec> spec = ReadSpec(run.info.spec_json, "the trace");
  if (spec.ok()) {
    for (const StageSpec& stage : spec.value().stages) {
      const auto* const source = std::get_if<SourceSpec>(&stage.kind);
      if (source != nullptr && source->format == SourceFormat::kSerial) sources.insert(stage.name);
    }
  }
  std::vector<bool> serial(run.stages.size());
  for (size_t i = 0; i < run.stages.size(); ++i) {
    const trace::StageInfo& stage = run.stages[i];
    serial[i] = std::find(kKinds.begin(), kKinds.end(), stage.kind) != kKinds.end() ||
                sources.count(stage.name) != 0;
  }
  return serial;
}

namespace {

std::vector<OpLine> SlowestLines(const trace::CodeLines& code) {
  constexpr size_t kMostLines = 10;
  double sum = 0;
  for (const trace::CodeLines::Line& line : code.lines) sum += static_cast<double>(line.ns);
  std::vector<OpLine> lines;
  for (const trace::CodeLines::Line& line : code.lines) {
    if (line.ns == 0) continue;
    lines.push_back({line.line, static_cast<double>(line.ns) / sum, line.samples});
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const OpLine& a, const OpLine& b) { return a.share > b.share; });
  lines.resize(std::min(lines.size(), kMostLines));
  return lines;
}

// A trace tells ops of one name apart by their places, behind the name.
std::string WithoutPlace(std::string name, const trace::OpInfo& op) {
  const std::string place =
      " (" + op.file.substr(op.file.rfind('/') + 1) + ":" + std::to_string(op.line) + ")";
  if (name.size() > place.size() && name.ends_with(place)) name.resize(name.size() - place.size());
  return name;
}

// `cpu`: of the stage's own time, the fraction on the CPU.
std::vector<OpUse> UseOfOps(const model::Run& run, const std::map<trace::StringId, OpWork>& ops,
                            double cpu) {
  std::vector<OpUse> uses;
  for (const auto& [id, op] : ops) {
    const double part = op.measured_ns > 0 ? static_cast<double>(op.measured_cpu_ns) /
                                                 static_cast<double>(op.measured_ns)
                                           : cpu;
    OpUse use{std::string(run.Text(id)),
              "",
              0,
              op.count,
              op.own_ns,
              static_cast<int64_t>(static_cast<double>(op.own_ns) * part)};
    use.whole_ns = op.whole_ns;
    if (const trace::OpInfo* const known = run.OpOf(id)) {
      use.file = known->file;
      use.line = known->line;
      use.name = WithoutPlace(std::move(use.name), *known);
      const trace::CodeLines* const code = run.LinesOf(known->file, known->line);
      if (code != nullptr) use.lines = SlowestLines(*code);
    }
    uses.push_back(std::move(use));
  }
  std::stable_sort(uses.begin(), uses.end(),
                   [](const OpUse& a, const OpUse& b) { return a.ns > b.ns; });
  return uses;
}

// The spans of ops include the waits inside them, which are no work.
std::optional<double> HeldShare(const model::Run& run, const StageWork& work, const StageUse& use) {
  int64_t held_ns = 0;
  for (const auto& [id, op] : work.ops) {
    if (IsHeldLock(run.Text(id))) held_ns += op.whole_ns;
  }
  const auto busy = static_cast<double>(use.busy_ns);
  const double waits = busy + static_cast<double>(use.lock_ns);
  const double sampled = static_cast<double>(work.sampled_ns) * (waits > 0 ? busy / waits : 1);
  if (held_ns == 0 || sampled <= 0) return std::nullopt;
  return std::min(1.0, static_cast<double>(held_ns) / sampled);
}

}  // namespace

bool IsHeldLock(std::string_view op) {
  return op.starts_with("multiprocessing.") && op.ends_with(" held");
}

std::optional<double> ShareOfStage(const OpUse& op, int64_t sampled_ns) {
  if (sampled_ns <= 0) return std::nullopt;
  return static_cast<double>(op.ns) / static_cast<double>(sampled_ns);
}

std::vector<StageUse> UseOfStages(const model::Run& run, const Window& window,
                                  const std::vector<TrackView>& views, const SpanTotals& totals,
                                  const WorkSplit& split, const std::vector<bool>& serial,
                                  uint64_t samples, int64_t stall_ns, double cores) {
  const auto threads = ThreadsByStage(views, totals);
  const auto owners = Owners(totals);
  std::map<StageId, StageWork> work;
  for (const auto& [key, part] : totals.work) work[key.second].Merge(part);

  std::vector<StageUse> uses(run.stages.size());
  for (size_t i = 0; i < run.stages.size(); ++i) {
    const trace::StageInfo& stage = run.stages[i];
    StageUse& use = uses[i];
    use.stage = stage.id;
    use.workers = MostWorkers(run, stage);
    use.ordered = stage.ordered;
    use.serial = serial[i];
    const auto owner = owners.find(stage.id);
    if (owner != owners.end()) use.runs_in = owner->second;
    if (model::IsTrainer(run, use.runs_in) && threads.contains(use.runs_in)) {
      // Others only work ahead of it.
      use.workers = std::min(use.workers, static_cast<uint32_t>(threads.at(use.runs_in).count));
    }
    const auto mine = work.find(stage.id);
    if (mine != work.end()) {
      use.elements = mine->second.service.count();
      use.service_ns = mine->second.service.Summary();
      use.bytes = mine->second.bytes;
    }
    if (samples > 0) {
      use.items_per_sample = static_cast<double>(use.elements) / static_cast<double>(samples);
    }
    for (const TrackUse& track : totals.tracks) {
      const auto part = track.stages.find(stage.id);
      if (part == track.stages.end()) continue;
      use.busy_ns += part->second.own_ns + part->second.io_ns;
      use.io_ns += part->second.io_ns;
      use.lock_ns += part->second.lock_ns;
    }
    const Split parts = split.OfStage(stage.id);
    use.cpu_ns = parts.cpu_ns;
    use.blocked_ns = parts.blocked_ns;
    use.contention_ns = parts.contention_ns;
    if (mine != work.end() && !mine->second.ops.empty()) {
      use.sampled_ns = mine->second.sampled_ns;
      const int64_t own = use.busy_ns - use.io_ns;
      use.ops = UseOfOps(run, mine->second.ops,
                         own > 0 ? static_cast<double>(use.cpu_ns) / static_cast<double>(own) : 0);
      use.held = HeldShare(run, mine->second, use);
    }
    use.capacity_samples_per_s = model::IsTrainer(run, use.stage)
                                     ? TrainerCapacity(window, samples, stall_ns)
                                     : Capacity(use, samples, cores);
    const auto time = static_cast<double>(window.ns()) * use.workers;
    if (time > 0) use.utilization = std::min(1.0, static_cast<double>(use.busy_ns) / time);
    const auto own = threads.find(stage.id);
    use.own_threads = own != threads.end();
    if (own == threads.end() || window.ns() == 0) continue;
    const double whole = static_cast<double>(window.ns()) *
                         static_cast<double>(std::min<size_t>(own->second.count, use.workers));
    use.starved = std::min(1.0, static_cast<double>(own->second.empty_ns) / whole);
    use.blocked = std::min(1.0, static_cast<double>(own->second.full_ns) / whole);
  }
  return uses;
}

namespace {

// Samples per second that the trainer would take if it never waited for a batch.
std::optional<double> TakenByTrainer(const model::Run& run, const std::vector<StageUse>& stages) {
  for (const StageUse& use : stages) {
    if (model::IsTrainer(run, use.stage)) return use.capacity_samples_per_s;
  }
  return std::nullopt;
}

}  // namespace

CrossCheck CheckAgainstCapacity(const model::Run& run, const std::vector<StageUse>& stages,
                                const std::vector<Blame>& blame) {
  CrossCheck check;
  // What the threads of a stage need for a sample, and which of their stages needs most.
  struct Group {
    double need = 0;
    StageId most;
    double most_need = 0;
  };
  std::map<StageId, Group> groups;
  for (const StageUse& use : stages) {
    if (!use.capacity_samples_per_s.has_value() || model::IsTrainer(run, use.stage)) continue;
    Group& group = groups[use.runs_in];
    const double need = 1 / *use.capacity_samples_per_s;
    group.need += need;
    if (need > group.most_need) {
      group.most_need = need;
      group.most = use.stage;
    }
  }
  const Group* slowest = nullptr;
  StageId slowest_runs_in;
  for (const auto& [owner, group] : groups) {
    if (slowest != nullptr && group.need <= slowest->need) continue;
    slowest = &group;
    slowest_runs_in = owner;
  }
  if (slowest == nullptr) return check;
  check.by_capacity = slowest->most;
  // One that keeps up with the trainer beside it delays nothing on average. In the trainer's own
  // thread nothing is beside it.
  const std::optional<double> taken = TakenByTrainer(run, stages);
  const bool beside = slowest_runs_in.known() && !model::IsTrainer(run, slowest_runs_in);
  if (beside && taken.has_value() && slowest->need * *taken <= 1 + 1e-9) return check;
  std::map<StageId, int64_t> blamed;
  for (const Blame& part : blame) blamed[part.stage] += part.ns;
  const auto top = std::max_element(blamed.begin(), blamed.end(), [](const auto& a, const auto& b) {
    return a.second < b.second;
  });
  if (top == blamed.end() || top->first == check.by_capacity) return check;
  check.agrees = false;
  check.text = fmt::format("the stalls are blamed on '{}', but by its capacity '{}' is the slowest",
                           run.NameOf(top->first), run.NameOf(check.by_capacity));
  return check;
}

std::vector<QueueUse> UseOfQueues(const model::Run& run, const Window& window, unsigned threads) {
  std::vector<QueueUse> uses(run.queues.size());
  for (size_t q = 0; q < uses.size(); ++q) {
    uses[q].queue = QueueId{static_cast<uint32_t>(q)};
    uses[q].capacity = run.queues[q].info.capacity;
  }
  if (window.ns() <= 0) return uses;
  // Each thread reads all events, which costs little next to sorting those of its queues.
  const size_t pieces = std::clamp<size_t>(threads, 1, kMostThreads);
  ForEachParallel(pieces, threads,
                  [&](size_t piece) { MeasureSome(run, window, piece, pieces, uses); });
  return uses;
}

void SetQueues(const model::Run& run, const std::vector<QueueUse>& queues,
               std::vector<StageUse>& stages) {
  // These hand on each element that they get.
  constexpr std::array<std::string_view, 3> kPassing = {"shuffle", "repeat", "prefetch"};
  for (StageUse& use : stages) {
    const trace::StageInfo& stage = run.stages[use.stage.value];
    if (stage.queue.known()) use.queue = queues[stage.queue.value];
    // A job's transport has several spans per batch: where it is packed, sent and unpacked.
    const bool hands_over = model::IsTransport(run, use.stage);
    if (use.elements != 0 && !hands_over) continue;
    if (use.queue.has_value() && use.queue->pushed != 0) {
      use.passed = use.queue->pushed;
    } else if ((hands_over ||
                std::find(kPassing.begin(), kPassing.end(), stage.kind) != kPassing.end()) &&
               stage.inputs.size() == 1 && stage.inputs.front().value < use.stage.value) {
      const StageUse& before = stages[stage.inputs.front().value];
      use.passed =
          before.passed || before.elements == 0 ? before.passed : std::optional(before.elements);
    }
  }
}

}  // namespace stallscope::attribution
