#include "analyzer/model/join.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/model/graph.h"
#include "analyzer/model/interner.h"
#include "analyzer/trace/limits.h"

namespace stallscope::model {
namespace {

bool IsMark(const Run& run, const trace::SpanClass& what) {
  return run.Text(what.name).starts_with(kClockMark);
}

bool IsUnseen(const trace::StageInfo& stage) { return stage.kind == trace::kUnseenPipeline; }

// True if the recording shows only that a pipeline exists.
bool LacksPipeline(const Run& run) {
  return run.imported() || std::all_of(run.stages.begin(), run.stages.end(),
                                       [](const auto& s) { return IsUnseen(s) || IsTrainer(s); });
}

std::optional<int64_t> ShiftByWallClock(const Run& profile, const Run& run) {
  if (profile.info.start_realtime_ns == 0 || run.info.start_realtime_ns == 0) return std::nullopt;
  return (profile.info.start_realtime_ns - profile.info.start_ns) -
         (run.info.start_realtime_ns - run.info.start_ns);
}

// Of one kind, two stages are two if not as many more of that kind are between them and the
// trainer.
bool IsAlike(const trace::StageInfo& a, const trace::StageInfo& b) {
  const auto nearer = [](const trace::StageInfo& stage) {
    const auto setting = stage.settings.find(trace::kNearerTrainer);
    return setting == stage.settings.end() ? std::string_view() : std::string_view(setting->second);
  };
  return a.kind == b.kind && nearer(a) == nearer(b);
}

// Null if there are none or several.
const trace::StageInfo* OnlyOneLike(const Run& run, const trace::StageInfo& stage) {
  const trace::StageInfo* found = nullptr;
  for (const trace::StageInfo& other : run.stages) {
    if (!IsAlike(other, stage)) continue;
    if (found != nullptr) return nullptr;
    found = &other;
  }
  return found;
}

// The job's function that a stage calls. Empty if it calls none, or if several nodes of the graph
// could be this stage.
std::string FunctionOf(const Run& run, const trace::StageInfo& stage) {
  const auto node = NodeOf(run, stage);
  return node ? node->function : "";
}

class Joiner {
 public:
  Joiner(Run& profile, const ProfileWindow& window, int64_t shift, Run& run)
      : from_(profile),
        window_(window),
        shift_(shift),
        to_(run),
        strings_(run.strings),
        classes_(run.span_classes),
        pipeline_(LacksPipeline(run)) {
    const auto process =
        std::find_if(run.processes.begin(), run.processes.end(),
                     [&](const trace::ProcessInfo& known) { return known.pid == window.pid; });
    if (process != run.processes.end()) process_ = process->id;
  }

  void Join() {
    for (const std::string& text : from_.strings) string_map_.push_back(strings_.Intern(text));
    MapStages();
    MapQueues();
    for (const trace::SpanClass& what : from_.span_classes) {
      class_map_.push_back(ClassOf(what));
      op_map_.push_back(OpOf(what));
    }
    for (Track& track : from_.tracks) AddTrack(track);
    AddRows();
    JoinSteps();
    TakeInfo();
  }

 private:
  int64_t Move(int64_t time) const { return trace::ClampTime(time + shift_); }

  StageId StageOf(StageId id) const { return id.known() ? stage_map_[id.value] : id; }
  QueueId QueueOf(QueueId id) const { return id.known() ? queue_map_[id.value] : id; }
  TrackId TrackOf(TrackId id) const { return id.known() ? track_map_[id.value] : id; }

  // The run's stage that this one is. Names are of one profile: they number the stages of a kind
  // that it shows. The stage that represents the whole pipeline becomes the one that feeds the
  // trainer.
  StageId FindStage(const trace::StageInfo& stage, bool feeds_trainer) {
    const trace::StageInfo* const only = OnlyOneLike(to_, stage);
    if (only != nullptr && OnlyOneLike(from_, stage) != nullptr) return only->id;
    for (const trace::StageInfo& known : to_.stages) {
      if (IsAlike(known, stage) && (known.name == stage.name || IsTrainer(stage))) return known.id;
    }
    if (!feeds_trainer) return StageId::None();
    const auto unseen = std::find_if(to_.stages.begin(), to_.stages.end(), IsUnseen);
    if (unseen == to_.stages.end()) return StageId::None();
    unseen->name = FreeName(stage.name);
    unseen->kind = stage.kind;
    unseen->workers = stage.workers;
    unseen->ordered = stage.ordered;
    unseen->settings = stage.settings;
    return unseen->id;
  }

  // Numbered, as importers number the stages of a kind, if the name is taken.
  std::string FreeName(const std::string& name) const {
    const auto taken = [&](const std::string& free) {
      return std::any_of(to_.stages.begin(), to_.stages.end(),
                         [&](const auto& stage) { return stage.name == free; });
    };
    const size_t space = name.find_last_not_of("0123456789");
    const bool numbered = space != std::string::npos && name[space] == ' ';
    const std::string base = numbered ? name.substr(0, space) : name;
    std::string free = name;
    for (size_t number = 2; taken(free); ++number) free = base + " " + std::to_string(number);
    return free;
  }

  bool FeedsTrainer(StageId id) const {
    return std::any_of(from_.stages.begin(), from_.stages.end(), [&](const auto& stage) {
      return IsTrainer(stage) &&
             std::find(stage.inputs.begin(), stage.inputs.end(), id) != stage.inputs.end();
    });
  }

  void MapStages() {
    stage_map_.assign(from_.stages.size(), StageId::None());
    if (!pipeline_) return;
    // A later window may show stages that the first one did not.
    const auto loads = std::find_if(to_.stages.begin(), to_.stages.end(),
                                    [](const auto& stage) { return stage.loader.known(); });
    const LoaderId loader = loads == to_.stages.end() ? LoaderId::None() : loads->loader;
    for (const trace::StageInfo& stage : from_.stages) {
      StageId& ours = stage_map_[stage.id.value];
      ours = FindStage(stage, FeedsTrainer(stage.id));
      if (ours.known() || to_.stages.size() >= trace::kMaxStages) continue;
      ours = StageId{static_cast<uint32_t>(to_.stages.size())};
      const std::string name = FreeName(stage.name);
      to_.stages.push_back(stage);
      to_.stages.back().id = ours;
      to_.stages.back().name = name;
      to_.stages.back().queue = QueueId::None();
      to_.stages.back().inputs.clear();
      if (!IsTrainer(stage)) to_.stages.back().loader = loader;
    }
    for (const trace::StageInfo& stage : from_.stages) {
      const StageId ours = StageOf(stage.id);
      if (!ours.known()) continue;
      trace::StageInfo& to = to_.stages[ours.value];
      to.workers = std::max(to.workers, stage.workers);
      if (to.settings.empty()) to.settings = stage.settings;
      for (const StageId input : stage.inputs) {
        const StageId known = StageOf(input);
        if (!known.known() || known == ours) continue;
        if (std::find(to.inputs.begin(), to.inputs.end(), known) == to.inputs.end()) {
          to.inputs.push_back(known);
        }
      }
    }
    LimitWorkers();
  }

  // The job's setting limits how many calls of a stage's function are under way at once, whatever a
  // profile shows.
  void LimitWorkers() {
    for (trace::StageInfo& stage : to_.stages) {
      const auto node = NodeOf(to_, stage);
      if (!node) continue;
      uint32_t calls = 0;
      const char* const end = node->calls.data() + node->calls.size();
      const auto read = std::from_chars(node->calls.data(), end, calls);
      if (read.ec != std::errc() || read.ptr != end || calls == 0) continue;
      stage.workers = std::min(stage.workers, calls);
    }
  }

  void MapQueues() {
    queue_map_.assign(from_.queues.size(), QueueId::None());
    if (!pipeline_) return;
    for (const Queue& queue : from_.queues) {
      const StageId producer = StageOf(queue.producer);
      QueueId& ours = queue_map_[queue.info.id.value];
      if (producer.known()) ours = to_.stages[producer.value].queue;
      if (!ours.known()) {
        if (to_.queues.size() >= trace::kMaxQueues) continue;
        ours = QueueId{static_cast<uint32_t>(to_.queues.size())};
        to_.queues.push_back(queue);
        to_.queues.back().info.id = ours;
        to_.queues.back().producer = producer;
        if (producer.known()) to_.stages[producer.value].queue = ours;
      }
      trace::QueueInfo& info = to_.queues[ours.value].info;
      info.name = queue.info.name;
      info.capacity = std::max(info.capacity, queue.info.capacity);
    }
  }

  uint16_t ClassOf(trace::SpanClass what) {
    what.stage = StageOf(what.stage);
    what.queue = QueueOf(what.queue);
    if (what.name.known()) what.name = string_map_[what.name.value];
    if (const auto number = classes_.Intern(what)) return *number;
    what.name = trace::StringId::None();
    return classes_.Intern(what).value_or(0);
  }

  // The span class for the job's function within the stage's work.
  std::optional<uint16_t> OpOf(const trace::SpanClass& what) {
    const StageId stage = StageOf(what.stage);
    if (what.kind != trace::SpanKind::kWork || what.name.known() || !stage.known()) return {};
    const std::string function = FunctionOf(to_, to_.stages[stage.value]);
    if (function.empty()) return {};
    trace::SpanClass op{trace::SpanKind::kWork, stage, trace::WaitCause::kUnknown, {}};
    op.name = strings_.Intern(function);
    op.activity = trace::SpanActivity::kOp;
    return classes_.Intern(op);
  }

  // None for a track that is not joined.
  TrackId MakeTrack(const Track& track) {
    const bool thread = track.info.kind == trace::TrackKind::kThread;
    if (thread && !pipeline_) return TrackId::None();
    trace::TrackInfo info = track.info;
    info.stage = StageOf(info.stage);
    info.process = process_;
    for (const Track& known : to_.tracks) {
      info.id = known.info.id;
      if (known.info == info) return info.id;
    }
    if (to_.tracks.size() >= trace::kMaxTracks) return TrackId::None();
    info.id = TrackId{static_cast<uint32_t>(to_.tracks.size())};
    Track& made = to_.tracks.emplace_back();
    made.info = std::move(info);
    made.rank = to_.info.rank;
    return made.info.id;
  }

  void AddTrack(const Track& track) {
    const TrackId ours = MakeTrack(track);
    track_map_.push_back(ours);
    if (!ours.known()) return;
    if (track.info.kind == trace::TrackKind::kThread && IsTrainer(to_, StageOf(track.info.stage))) {
      trainer_ = ours;
    }
    trace::SpanColumns& to = to_.tracks[ours.value].spans;
    for (size_t i = 0; i < track.spans.size(); ++i) {
      if (IsMark(from_, from_.ClassOf(track, i))) continue;
      const int64_t start_ns = track.spans.start_ns[i];
      const int64_t ns = track.spans.DurationNs(i);
      const uint16_t what = track.spans.span_class[i];
      // All of the work is the function's, unless it holds other stages' work.
      const bool alone = i == 0 || track.spans.EndNs(i - 1) <= start_ns;
      if (alone && op_map_[what]) to.Append(Move(start_ns), ns, *op_map_[what], ItemId::None());
      to.Append(Move(start_ns), ns, class_map_[what], ItemId::None());
    }
    if (!to.bytes.empty()) to.bytes.resize(to.size());
    if (!to.cpu_ns.empty()) to.cpu_ns.resize(to.size());
    if (!to.waker.empty()) to.waker.resize(to.size());
  }

  template <class Row>
  void AddDeviceRows(const std::vector<Row>& rows, std::vector<Row>& to) {
    for (Row row : rows) {
      row.track = TrackOf(row.track);
      if (!row.track.known()) continue;
      if (row.enqueued_ns != 0) row.enqueued_ns = Move(row.enqueued_ns);
      row.start_ns = Move(row.start_ns);
      row.end_ns = Move(row.end_ns);
      if constexpr (std::is_same_v<Row, trace::Kernel>) {
        if (row.name.known()) row.name = string_map_[row.name.value];
      }
      to.push_back(row);
    }
  }

  void AddRows() {
    AddDeviceRows(from_.rows.kernels, to_.rows.kernels);
    AddDeviceRows(from_.rows.copies, to_.rows.copies);
    std::vector<CounterId> counters;
    for (const trace::CounterInfo& counter : from_.counters) {
      const auto known = std::find_if(
          to_.counters.begin(), to_.counters.end(),
          [&](const auto& ours) { return ours.name == counter.name && ours.process == process_; });
      if (known != to_.counters.end() || to_.counters.size() >= trace::kMaxCounters) {
        counters.push_back(known == to_.counters.end() ? CounterId::None() : known->id);
        continue;
      }
      counters.push_back(CounterId{static_cast<uint32_t>(to_.counters.size())});
      to_.counters.push_back({counters.back(), counter.name, counter.unit, process_});
    }
    for (trace::Sample sample : from_.rows.samples) {
      if (!sample.counter.known() || !counters[sample.counter.value].known()) continue;
      sample.counter = counters[sample.counter.value];
      sample.time_ns = Move(sample.time_ns);
      to_.rows.samples.push_back(sample);
    }
  }

  bool IsOfProcess(const trace::Step& step) const {
    return !step.track.known() || !process_.known() ||
           to_.tracks[step.track.value].info.process == process_;
  }

  // Updates when the last device work of a step was launched and done.
  template <class Row>
  void Reach(const std::vector<Row>& rows, int64_t next_ns, trace::Step& step, bool& any) const {
    for (const Row& row : rows) {
      const int64_t launched = Move(row.enqueued_ns != 0 ? row.enqueued_ns : row.start_ns);
      if (launched < step.requested_ns || launched >= next_ns) continue;
      step.issued_ns = std::max(any ? step.issued_ns : step.received_ns, launched);
      step.device_done_ns = std::max(any ? step.device_done_ns : launched, Move(row.end_ns));
      any = true;
    }
  }

  void JoinSteps() {
    std::vector<trace::Step>& steps = to_.rows.steps;
    const bool own = !steps.empty();
    if (!own && pipeline_) TakeSteps();
    const uint32_t samples = from_.rows.steps.empty() ? 0 : from_.rows.steps.front().samples;
    int64_t later_ns = std::numeric_limits<int64_t>::max();
    for (size_t i = own ? steps.size() : 0; i-- > 0;) {
      trace::Step& step = steps[i];
      if (!IsOfProcess(step)) continue;
      const int64_t next_ns = std::exchange(later_ns, step.requested_ns);
      if (step.samples == 0 && pipeline_) step.samples = samples;
      if (step.requested_ns < window_.from_ns || step.requested_ns >= window_.to_ns) continue;
      bool any = false;
      Reach(from_.rows.kernels, next_ns, step, any);
      Reach(from_.rows.copies, next_ns, step, any);
      if (pipeline_ && trainer_.known()) step.track = trainer_;
    }
  }

  void TakeSteps() {
    for (trace::Step step : from_.rows.steps) {
      for (int64_t* const time :
           {&step.requested_ns, &step.received_ns, &step.issued_ns, &step.device_done_ns}) {
        *time = Move(*time);
      }
      step.track = TrackOf(step.track);
      step.batch = ItemId::None();
      to_.rows.steps.push_back(step);
    }
  }

  void TakeInfo() {
    const bool device = std::any_of(from_.tracks.begin(), from_.tracks.end(),
                                    [](const Track& track) { return track.info.on_device(); });
    if (device || to_.info.device.kind.empty()) to_.info.device = from_.info.device;
    const bool seen = std::any_of(from_.stages.begin(), from_.stages.end(),
                                  [](const auto& stage) { return !IsTrainer(stage); });
    if (!pipeline_ || !seen) return;
    to_.info.imported_from = from_.format;
    for (const std::string& limit : from_.info.limits) {
      std::vector<std::string>& limits = to_.info.limits;
      const std::string_view figure = LimitedFigure(limit);
      if (figure == "steps") continue;  // the run has its own
      if (figure == "stages.cpu_s" && HasThreadTimes()) continue;
      if (std::find(limits.begin(), limits.end(), limit) == limits.end()) limits.push_back(limit);
    }
  }

  // True if the recorder measured when the loader's threads were on a core.
  bool HasThreadTimes() const {
    return std::any_of(to_.counters.begin(), to_.counters.end(), [&](const auto& counter) {
      return counter.process == process_ && counter.name.ends_with(".pool_on_cpu");
    });
  }

  Run& from_;
  const ProfileWindow& window_;
  const int64_t shift_;
  Run& to_;
  StringInterner strings_;
  SpanClassInterner classes_;
  const bool pipeline_;
  ProcessId process_;
  TrackId trainer_;
  std::vector<trace::StringId> string_map_;
  std::vector<StageId> stage_map_;
  std::vector<QueueId> queue_map_;
  std::vector<uint16_t> class_map_;
  std::vector<std::optional<uint16_t>> op_map_;  // by the profile's classes
  std::vector<TrackId> track_map_;
};

}  // namespace

std::optional<int64_t> ShiftByMarks(const Run& profile, const ProfileWindow& window) {
  std::optional<int64_t> least;
  std::optional<int64_t> most;
  for (const Track& track : profile.tracks) {
    for (size_t i = 0; i < track.spans.size(); ++i) {
      std::string_view text = profile.Text(profile.ClassOf(track, i).name);
      if (!text.starts_with(kClockMark)) continue;
      text.remove_prefix(kClockMark.size());
      int64_t at_ns = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), at_ns);
      if (error != std::errc() || end == text.data() || !trace::IsTime(at_ns)) continue;
      const int64_t shift = at_ns - track.spans.start_ns[i];
      // The mark began after the clock was read: the true shift is no less.
      most = std::max(most.value_or(shift), shift);
      least = std::min(least.value_or(shift), shift);
    }
  }
  if (!most || *most - *least > window.to_ns - window.from_ns) return std::nullopt;
  return most;
}

Status JoinProfile(Run profile, const ProfileWindow& window, Run& run) {
  std::optional<int64_t> shift = ShiftByMarks(profile, window);
  const bool marked = shift.has_value();
  if (!marked) shift = ShiftByWallClock(profile, run);
  if (!shift) {
    return Error{ErrorKind::kInput, "its clock cannot be matched to the run's", profile.path,
                 "record the job again"};
  }
  const TimeRange at = WindowOf(profile);
  if (at.start_ns + *shift >= window.to_ns || at.end_ns + *shift <= window.from_ns) {
    return Error{ErrorKind::kInput, "its times are outside of its window", profile.path,
                 "record the job again"};
  }
  if (!marked) {
    run.quality.warnings.push_back(
        run.path +
        ": a profile has no marks of the run's clock; it was aligned by wall-clock time");
  }
  Joiner(profile, window, *shift, run).Join();
  return {};
}

}  // namespace stallscope::model
