#include "analyzer/model/ranks.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "analyzer/base/saturated.h"
#include "analyzer/model/interner.h"
#include "analyzer/model/row_fields.h"
#include "analyzer/trace/chunk.h"
#include "analyzer/trace/limits.h"

namespace stallscope::model {
namespace {

constexpr size_t kFewestPairs = 3;
// The ends of one collective are some microseconds apart; if half of them are further apart than
// this, other kernels were taken for the same.
constexpr int64_t kMostSpreadNs = 200'000;

// A step's number and a kernel's name: the ends of those kernels, by time.
using Ends = std::map<std::pair<uint64_t, std::string_view>, std::vector<int64_t>>;

bool HasMarkedSteps(const Run& run) { return !run.rows.steps.empty() && !IsLimited(run, "steps"); }

Ends EndsOf(const Run& run, IsCommunication is_communication) {
  std::vector<std::pair<int64_t, uint64_t>> steps;  // begin, number
  for (const trace::Step& step : run.rows.steps) steps.emplace_back(step.requested_ns, step.index);
  std::sort(steps.begin(), steps.end());
  std::vector<bool> moves(run.strings.size());
  for (size_t i = 0; i < moves.size(); ++i) moves[i] = is_communication(run.strings[i]);
  Ends ends;
  for (const trace::Kernel& kernel : run.rows.kernels) {
    if (!kernel.name.known() || !moves[kernel.name.value]) continue;
    const int64_t launched = kernel.enqueued_ns != 0 ? kernel.enqueued_ns : kernel.start_ns;
    const auto next =
        std::upper_bound(steps.begin(), steps.end(), launched,
                         [](int64_t ns, const auto& step) { return ns < step.first; });
    if (next == steps.begin()) continue;
    ends[{std::prev(next)->second, run.Text(kernel.name)}].push_back(kernel.end_ns);
  }
  for (auto& [key, times] : ends) std::sort(times.begin(), times.end());
  return ends;
}

// Times in made-up files may be as far apart as numbers go.
int64_t Difference(int64_t a, int64_t b) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  int64_t difference = 0;
  if (__builtin_sub_overflow(a, b, &difference)) return a < b ? -kMost : kMost;
  // Of the least number there is no absolute value.
  return std::max(difference, -kMost);
}

int64_t MedianOf(std::vector<int64_t>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// 73 years: past the distance of any two clocks, and small enough that sums of two cannot overflow.
constexpr int64_t kMaxDistance = int64_t{1} << 61;

// How far CLOCK_REALTIME is ahead of CLOCK_MONOTONIC on this rank.
int64_t RealtimeAhead(const Run& run) {
  return std::clamp(
      trace::ClampTime(run.info.start_realtime_ns) - trace::ClampTime(run.info.start_ns),
      -kMaxDistance, kMaxDistance);
}

// One, or as many as the trace of a job has trainers.
uint32_t RanksIn(const Run& run) {
  uint32_t last = run.info.rank;
  for (const uint32_t rank : run.step_ranks) last = std::max(last, rank);
  return last - run.info.rank + 1;
}

// Its first rank is `first` from now on.
void Renumber(uint32_t first, Run& run) {
  const uint32_t by = first - run.info.rank;
  run.info.rank = first;
  if (by == 0) return;
  for (uint32_t& rank : run.step_ranks) rank += by;
  for (Track& track : run.tracks) track.rank += by;
  for (Queue& queue : run.queues) queue.rank += by;
  for (Loader& loader : run.loaders) loader.rank += by;
}

// What the launcher calls the lowest rank in a job's trace.
std::optional<uint32_t> StatedRank(const Run& run) {
  std::optional<uint32_t> least;
  for (const trace::ProcessInfo& process : run.processes) {
    if (process.rank && (!least || *process.rank < *least)) least = process.rank;
  }
  return least;
}

void NumberRanks(std::vector<Run>& runs) {
  std::set<uint32_t> seen;
  const bool several =
      std::any_of(runs.begin(), runs.end(), [](const Run& run) { return !run.step_ranks.empty(); });
  for (const Run& run : runs) seen.insert(run.info.rank);
  if (several || seen.size() != runs.size()) {
    std::map<uint32_t, size_t> order;  // by the launcher's numbers, else as given
    for (size_t i = 0; i < runs.size(); ++i) {
      if (const auto stated = StatedRank(runs[i])) order.emplace(*stated, i);
    }
    if (order.size() != runs.size()) {
      order.clear();
      for (size_t i = 0; i < runs.size(); ++i) order.emplace(static_cast<uint32_t>(i), i);
    }
    uint32_t next = 0;
    for (const auto& [number, i] : order) {
      next = std::max(next, number);
      const uint32_t ranks = RanksIn(runs[i]);
      Renumber(next, runs[i]);
      next += ranks;
    }
  }
  std::stable_sort(runs.begin(), runs.end(),
                   [](const Run& a, const Run& b) { return a.info.rank < b.info.rank; });
}

class Merger {
 public:
  Merger() : strings_(to_.strings), classes_(to_.span_classes) {}
  Merger(const Merger&) = delete;
  Merger& operator=(const Merger&) = delete;

  // `offset` brings its times to the clock of the first.
  Status Add(Run from, int64_t offset);
  Run Finish();

 private:
  void MapIds(Run& from);
  void MapStages(const Run& from);
  void MergeCode(Run& from);
  Status MapClasses(const Run& from);
  void AddTracks(Run& from);
  void AddQuality(const Run& from);
  int64_t Move(int64_t time) const { return trace::ClampTime(time + offset_); }
  uint64_t Move(uint64_t item) const {
    if (item == ItemId::None().value) return item;
    // A job's batch has its loader there.
    return of_loaders_ ? item + (uint64_t{loader_base_ & kRankMask} << kRankShift)
                       : item | uint64_t{rank_ & kRankMask} << kRankShift;
  }
  // Of a part of the run: a job's trace may hold several ranks.
  uint32_t RankOf(uint32_t of_part) const { return several_ ? of_part : rank_; }
  StageId Move(StageId id) const { return id.known() ? stage_map_[id.value] : id; }
  template <class Number>
  Number Past(Number id, size_t base) const {
    return id.known() ? Number{static_cast<uint32_t>(id.value + base)} : id;
  }
  template <class Field>
  void MoveField(Field& field) const;

  Run to_;
  StringInterner strings_;
  SpanClassInterner classes_;
  // About the rank that is being added.
  uint32_t rank_ = 0;  // the first of its ranks
  bool several_ = false;
  bool of_loaders_ = false;
  int64_t offset_ = 0;
  std::vector<StageId> stage_map_;
  std::vector<trace::StringId> string_map_;
  std::vector<uint16_t> class_map_;
  size_t queue_base_ = 0;
  size_t track_base_ = 0;
  size_t counter_base_ = 0;
  size_t process_base_ = 0;
  size_t loader_base_ = 0;
};

void Merger::MapIds(Run& from) {
  queue_base_ = to_.queues.size();
  track_base_ = to_.tracks.size();
  counter_base_ = to_.counters.size();
  process_base_ = to_.processes.size();
  loader_base_ = to_.loaders.size();
  MapStages(from);
  string_map_.clear();
  for (const std::string& text : from.strings) string_map_.push_back(strings_.Intern(text));
  for (Queue& queue : from.queues) {
    queue.info.id = Past(queue.info.id, queue_base_);
    queue.rank = RankOf(queue.rank);
    queue.info.name = NameOnRank(queue.rank, queue.info.name);
    queue.producer = Move(queue.producer);
    to_.queues.push_back(std::move(queue));
  }
  for (trace::CounterInfo& counter : from.counters) {
    counter.id = Past(counter.id, counter_base_);
    counter.name = NameOnRank(rank_, counter.name);
    counter.process = Past(counter.process, process_base_);
    to_.counters.push_back(std::move(counter));
  }
  for (trace::ProcessInfo& process : from.processes) {
    process.id = Past(process.id, process_base_);
    process.name = NameOnRank(rank_, process.name);
    if (process.start_ns != 0) process.start_ns = Move(process.start_ns);
    if (process.end_ns != 0) process.end_ns = Move(process.end_ns);
    to_.processes.push_back(std::move(process));
  }
  for (const Loader& loader : from.loaders) {
    const bool named = loader.same_as.known() && RankOf(loader.rank) != rank_;
    Loader& moved = to_.loaders.emplace_back(loader);
    moved.info.id = Past(loader.info.id, loader_base_);
    moved.info.process = Past(loader.info.process, process_base_);
    moved.same_as = Past(loader.same_as, loader_base_);
    moved.rank = RankOf(loader.rank);
    moved.name = NameOnRank(moved.rank, named ? from.loaders[loader.same_as.value].name
                                              : std::string_view(loader.name));
  }
  MergeCode(from);
}

void Merger::MapStages(const Run& from) {
  stage_map_.clear();
  const size_t stages_before = to_.stages.size();
  for (const trace::StageInfo& stage : from.stages) {
    // Among the stages of the ranks before: two of one name in the same rank stay two.
    const auto end = to_.stages.begin() + static_cast<ptrdiff_t>(stages_before);
    const auto same = std::find_if(to_.stages.begin(), end, [&](const trace::StageInfo& s) {
      return s.name == stage.name && s.kind == stage.kind;
    });
    if (same != end) {
      same->workers = SaturatedSum(same->workers, stage.workers);
      stage_map_.push_back(same->id);
    } else {
      stage_map_.push_back(StageId{static_cast<uint32_t>(to_.stages.size())});
      to_.stages.push_back(stage);
      to_.stages.back().id = stage_map_.back();
    }
  }
  for (size_t i = stages_before; i < to_.stages.size(); ++i) {
    for (StageId& input : to_.stages[i].inputs) input = Move(input);
    to_.stages[i].queue = Past(to_.stages[i].queue, queue_base_);
    to_.stages[i].loader = Past(to_.stages[i].loader, loader_base_);
  }
}

void Merger::MergeCode(Run& from) {
  for (trace::OpInfo& op : from.ops) {
    const auto same = [&](const trace::OpInfo& known) { return known.name == op.name; };
    if (std::none_of(to_.ops.begin(), to_.ops.end(), same)) to_.ops.push_back(std::move(op));
  }
  for (trace::CodeLines& code : from.code_lines) {
    const auto known = std::find_if(to_.code_lines.begin(), to_.code_lines.end(), [&](auto& other) {
      return other.first_line == code.first_line && other.file == code.file;
    });
    if (known == to_.code_lines.end()) {
      to_.code_lines.push_back(std::move(code));
    } else {
      trace::Merge(code, *known);
    }
  }
}

Status Merger::MapClasses(const Run& from) {
  class_map_.clear();
  for (trace::SpanClass span_class : from.span_classes) {
    span_class.stage = Move(span_class.stage);
    span_class.queue = Past(span_class.queue, queue_base_);
    if (span_class.name.known()) span_class.name = string_map_[span_class.name.value];
    const std::optional<uint16_t> number = classes_.Intern(span_class);
    if (!number) {
      return Error{ErrorKind::kInput, "the ranks together have too many kinds of spans", from.path,
                   "pass fewer ranks"};
    }
    class_map_.push_back(*number);
  }
  return {};
}

void Merger::AddTracks(Run& from) {
  for (Track& track : from.tracks) {
    track.info.id = Past(track.info.id, track_base_);
    track.rank = RankOf(track.rank);
    track.info.name = NameOnRank(track.rank, track.info.name);
    track.info.stage = Move(track.info.stage);
    track.info.process = Past(track.info.process, process_base_);
    if (track.tally) track.tally->track = track.info.id;
    trace::SpanColumns& spans = track.spans;
    for (int64_t& start : spans.start_ns) start = Move(start);
    for (uint64_t& item : spans.item) item = Move(item);
    for (uint16_t& number : spans.span_class) number = class_map_[number];
    for (uint32_t& waker : spans.waker) {
      if (waker != 0) waker += static_cast<uint32_t>(track_base_);
    }
    to_.tracks.push_back(std::move(track));
  }
}

template <class Field>
void Merger::MoveField(Field& field) const {
  if constexpr (std::is_same_v<Field, StageId>) {
    field = Move(field);
  } else if constexpr (std::is_same_v<Field, QueueId>) {
    field = Past(field, queue_base_);
  } else if constexpr (std::is_same_v<Field, TrackId>) {
    field = Past(field, track_base_);
  } else if constexpr (std::is_same_v<Field, CounterId>) {
    field = Past(field, counter_base_);
  } else if constexpr (std::is_same_v<Field, trace::StringId>) {
    if (field.known()) field = string_map_[field.value];
  } else if constexpr (std::is_same_v<Field, ItemId>) {
    field.value = Move(field.value);
  } else if constexpr (std::is_same_v<Field, int64_t>) {
    field = Move(field);
  }
}

void Merger::AddQuality(const Run& run) {
  const DataQuality& from = run.quality;
  DataQuality& to = to_.quality;
  const auto add = [](std::optional<uint64_t>& sum, const std::optional<uint64_t>& part) {
    if (sum && part) *sum = SaturatedSum(*sum, *part);
    if (!part) sum.reset();
  };
  to.sealed = to.sealed && from.sealed;
  add(to.emitted, from.emitted);
  add(to.stored, from.stored);
  to.dropped = SaturatedSum(to.dropped, from.dropped);
  to.frames += from.frames;
  to.damaged_bytes = SaturatedSum(to.damaged_bytes, from.damaged_bytes);
  to.damaged_ranges.insert(to.damaged_ranges.end(), from.damaged_ranges.begin(),
                           from.damaged_ranges.end());
  to.missing_frames = SaturatedSum(to.missing_frames, from.missing_frames);
  if (!to.cut_at) to.cut_at = from.cut_at;
  to.left_out = SaturatedSum(to.left_out, from.left_out);
  if (to.write_error.empty()) to.write_error = from.write_error;
  to.warnings.insert(to.warnings.end(), from.warnings.begin(), from.warnings.end());
}

Status Merger::Add(Run from, int64_t offset) {
  rank_ = from.info.rank;
  several_ = !from.step_ranks.empty();
  of_loaders_ = !from.info.job.command.empty() && !from.loaders.empty();
  offset_ = offset;
  if (to_.tracks.size() + from.tracks.size() > trace::kMaxTracks) {
    return Error{ErrorKind::kInput, "the ranks together have too many tracks", from.path,
                 "pass fewer ranks"};
  }
  const bool first = to_.path.empty();
  from.info.start_ns = Move(from.info.start_ns);
  from.info.end_ns = from.info.end_ns == 0 ? 0 : Move(from.info.end_ns);
  if (first) {
    to_.path = from.path;
    to_.format = from.format;
    to_.format_version = from.format_version;
    to_.info = from.info;
    to_.quality.sealed = true;
    to_.quality.emitted = 0;
    to_.quality.stored = 0;
  }
  for (const std::string& limit : from.info.limits) {
    std::vector<std::string>& limits = to_.info.limits;
    if (std::find(limits.begin(), limits.end(), limit) == limits.end()) limits.push_back(limit);
  }
  to_.info.start_ns = std::min(to_.info.start_ns, from.info.start_ns);
  to_.info.end_ns = std::max(to_.info.end_ns, from.info.end_ns);
  MapIds(from);
  STALLSCOPE_RETURN_IF_ERROR(MapClasses(from));
  AddTracks(from);
  AddQuality(from);
  for (size_t i = 0; i < from.rows.steps.size(); ++i) to_.step_ranks.push_back(from.RankOfStep(i));
  trace::ForEachTable(from.rows, [&](int number, auto& rows) {
    for (auto& row : rows) ForEachField(row, [&](auto& field) { MoveField(field); });
    trace::ForEachTable(to_.rows, [&](int other, auto& all) {
      if constexpr (std::is_same_v<decltype(rows), decltype(all)>) {
        if (number == other) all.insert(all.end(), rows.begin(), rows.end());
      }
    });
  });
  return {};
}

Run Merger::Finish() {
  // By index; ranks came in ascending order, and a stable sort keeps it (of several in one trace,
  // too). Gaps came sorted by track.
  const std::vector<trace::Step>& steps = to_.rows.steps;
  std::vector<size_t> order(steps.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return steps[a].index < steps[b].index; });
  std::vector<trace::Step> sorted;
  std::vector<uint32_t> ranks;
  for (size_t i : order) {
    sorted.push_back(steps[i]);
    ranks.push_back(to_.step_ranks[i]);
  }
  to_.rows.steps = std::move(sorted);
  to_.step_ranks = std::move(ranks);
  std::stable_sort(to_.rows.gaps.begin(), to_.rows.gaps.end(),
                   [](const trace::Gap& a, const trace::Gap& b) { return a.track < b.track; });
  return std::move(to_);
}

// What brings each run's times to the first one's clock.
std::vector<int64_t> OffsetsOf(std::vector<Run>& runs, IsCommunication is_communication) {
  // Less than a launch takes is not worth a word.
  constexpr int64_t kWorthSaying = 100'000;
  const Run& first = runs.front();
  std::vector<int64_t> offsets;
  for (Run& run : runs) {
    int64_t offset = RealtimeAhead(run) - RealtimeAhead(first);
    const auto correction = is_communication == nullptr || &run == &first
                                ? std::nullopt
                                : CorrectionByCollectives(first, run, offset, is_communication);
    if (correction.has_value()) {
      offset = std::clamp(offset + std::clamp(correction->ns, -kMaxDistance, kMaxDistance),
                          -kMaxDistance, kMaxDistance);
      if (std::abs(correction->ns) >= kWorthSaying) {
        run.quality.warnings.push_back(
            run.path + ": the wall clock is " + std::to_string(correction->ns / 1'000) +
            " us off rank " + std::to_string(first.info.rank) + "'s, by the ends of " +
            std::to_string(correction->pairs) + " collectives, and was corrected by that");
      }
    }
    offsets.push_back(offset);
  }
  return offsets;
}

}  // namespace

std::string NameOnRank(uint32_t rank, std::string_view name) {
  return "rank " + std::to_string(rank) + ": " + std::string(name);
}

std::optional<ClockCorrection> CorrectionByCollectives(const Run& first, const Run& other,
                                                       int64_t offset,
                                                       IsCommunication is_communication) {
  if (!HasMarkedSteps(first) || !HasMarkedSteps(other)) return std::nullopt;
  const Ends there = EndsOf(other, is_communication);
  std::vector<int64_t> apart;
  for (const auto& [key, times] : EndsOf(first, is_communication)) {
    const auto same = there.find(key);
    // One of them may have been recorded from the middle of the step on.
    if (same == there.end() || same->second.size() != times.size()) continue;
    for (size_t i = 0; i < times.size(); ++i) {
      apart.push_back(Difference(times[i], SaturatedSum(same->second[i], offset)));
    }
  }
  if (apart.size() < kFewestPairs) return std::nullopt;
  ClockCorrection correction;
  correction.pairs = apart.size();
  correction.ns = MedianOf(apart);
  for (int64_t& ns : apart) {
    ns = Difference(std::max(ns, correction.ns), std::min(ns, correction.ns));
  }
  correction.spread_ns = MedianOf(apart);
  if (correction.spread_ns > kMostSpreadNs) return std::nullopt;
  return correction;
}

std::optional<Run> RunOfRank(const Run& run, uint32_t rank) {
  if (run.ranks_of_host != 0) return std::nullopt;
  Run one = run;
  one.info.rank = rank;
  one.step_ranks.clear();
  one.rows.steps.clear();
  for (size_t i = 0; i < run.rows.steps.size(); ++i) {
    if (run.RankOfStep(i) == rank) one.rows.steps.push_back(run.rows.steps[i]);
  }
  for (Track& track : one.tracks) {
    if (track.rank == rank) continue;
    track.spans = {};
    track.tally.reset();
  }
  trace::ForEachTable(one.rows, [&](int, auto& table) {
    std::erase_if(table, [&](auto& row) {
      bool of_another = false;
      ForEachField(row, [&](auto& field) {
        if constexpr (std::is_same_v<std::remove_reference_t<decltype(field)>, TrackId>) {
          of_another = of_another || (field.known() && run.tracks[field.value].rank != rank);
        }
      });
      return of_another;
    });
  });
  for (Loader& loader : one.loaders) {
    if (loader.rank != rank) loader.steps = 0;
  }
  // The stages name the loader that stands for it.
  for (Loader& loader : one.loaders) {
    if (loader.rank != rank || !loader.same_as.known()) continue;
    Loader& stands = one.loaders[loader.same_as.value];
    // A rank that was restarted has several: the one that fed most steps.
    if (stands.rank != rank || loader.steps > stands.steps) {
      const LoaderId id = stands.info.id;
      stands.info = loader.info;
      stands.info.id = id;
      stands.rank = rank;
      stands.steps = loader.steps;
    }
    loader.steps = 0;
    loader.name.clear();
    loader.info.process = ProcessId::None();
  }
  return one;
}

Result<Run> MergeRanks(std::vector<Run> runs, IsCommunication is_communication) {
  if (runs.empty()) {
    return Error{ErrorKind::kUsage, "there is no trace to merge", "", "name at least one"};
  }
  if (runs.size() == 1) return std::move(runs.front());
  NumberRanks(runs);
  const std::vector<int64_t> offsets = OffsetsOf(runs, is_communication);
  const uint32_t world =
      std::accumulate(runs.begin(), runs.end(), uint32_t{0},
                      [](uint32_t sum, const Run& run) { return sum + RanksIn(run); });
  uint32_t of_host = 0;
  uint32_t launched = 0;  // of which some may not be among these
  for (const Run& run : runs) {
    if (run.info.host.name != runs.front().info.host.name) continue;
    of_host += RanksIn(run);
    launched = std::max(launched, run.ranks_of_host);
  }
  Merger merger;
  for (size_t i = 0; i < runs.size(); ++i) {
    STALLSCOPE_RETURN_IF_ERROR(merger.Add(std::move(runs[i]), offsets[i]));
  }
  Run merged = merger.Finish();
  merged.info.world_size = std::max(merged.info.world_size, world);
  merged.ranks_of_host = std::max(of_host, launched);
  return merged;
}

}  // namespace stallscope::model
