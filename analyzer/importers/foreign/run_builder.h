// Puts together a model::Run from a foreign file's events, in whatever order they come, and keeps
// the promises of run.h.
//
// What goes where:
//  - What the pipeline did goes on thread tracks (TrackKind::kThread): work of a stage, and the
//    trainer's waits for a batch. Only this is accounted to stages.
//  - What a thread did operation by operation (framework ops, API calls, functions, annotations)
//    goes on its detail track (kDetail), named and with its activity: it is shown, exported and
//    partitioned as Kineto does, and never counts as a stage's work.
//  - A stream's kernels and copies go into their tables; whatever else kept the device busy
//    (memset) is a work span of activity kMemset on the stream's track.
// A track's spans may be added in any order; of two with the same extent the one added later is
// inside. One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/importers/foreign/byte_source.h"
#include "analyzer/importers/foreign/steps.h"
#include "analyzer/model/interner.h"
#include "analyzer/model/run.h"
#include "analyzer/trace/span_codec.h"

namespace stallscope::importers {

// Sorts a track's spans as run.h promises: by their ends; of two with the same end the enclosing
// one comes later, and of two with the same extent the one added first. Profilers write most spans
// by their starts, the enclosing one first: such runs are only scanned, and only what is really out
// of order is sorted.
void OrderSpans(trace::SpanColumns& spans);

// Something that happened again and again; see RunBuilder::AddTotals.
struct Occurrence {
  int64_t start_ns = 0;
  int64_t ns = 0;
};

class RunBuilder {
 public:
  // `format` is what reports call the file ("kineto"), `version` the dialect, or nothing.
  // Everything kept is charged to `allowance`, which must outlive the builder; null: not charged.
  RunBuilder(const std::string& path, const std::string& format, const std::string& version = "",
             Allowance* allowance = nullptr);
  RunBuilder(const RunBuilder&) = delete;  // the interners point into run_
  RunBuilder& operator=(const RunBuilder&) = delete;

  // Host, device, rank, clocks: whatever the file says. Finish() finds start_ns and end_ns.
  trace::RunInfo& info() { return run_.info; }
  // How far the wall clock is ahead of the file's own times, if known: it ties several ranks'
  // clocks together.
  void SetRealtimeAhead(int64_t ns) { realtime_ahead_ns_ = ns; }
  // For files that reveal their format only at the end.
  void SetFormat(const std::string& format, const std::string& version);

  trace::StringId Intern(std::string_view text);
  // Past limits.h: None, counted and reported. The same name and kind is the same stage.
  StageId Stage(std::string_view name, std::string_view kind, uint32_t workers = 0,
                bool ordered = true);
  // Its framework's tuner chooses its workers, or the capacity of its queue.
  void SetTuned(StageId stage) {
    if (stage.known()) run_.stages[stage.value].tuned = true;
  }
  // What the trace says of it, in its framework's words.
  void SetSetting(StageId stage, const std::string& name, std::string value) {
    if (stage.known()) run_.stages[stage.value].settings[name] = std::move(value);
  }
  // `stage` takes its elements from `input`.
  void Connect(StageId input, StageId stage);
  // The queue that the stage fills, created if it has none: what its consumer waits for.
  QueueId QueueOf(StageId stage);
  void SetCapacity(QueueId queue, uint64_t elements) {
    if (queue.known()) run_.queues[queue.value].info.capacity = elements;
  }
  TrackId ThreadTrack(std::string name, uint64_t thread, StageId stage = StageId::None());
  TrackId DetailTrack(std::string name, uint64_t thread = 0);
  TrackId StreamTrack(std::string name, uint32_t device, uint64_t stream = 0);
  // Once a track's name is known.
  void Rename(TrackId track, const std::string& name) { run_.tracks[track.value].info.name = name; }
  CounterId Counter(std::string_view name, std::string_view unit = "");

  // The number of a span class for AddSpan. If there are too many, one without a name, counted and
  // reported.
  uint16_t Class(const trace::SpanClass& span_class);
  uint16_t Detail(trace::SpanActivity activity, trace::StringId name);
  uint16_t Work(StageId stage);
  // For an element of `queue`, or, without one, for `cause`.
  uint16_t Wait(trace::WaitCause cause, QueueId queue = QueueId::None());
  // A span that ends before it begins gets duration 0, and times past limits.h are clamped; both
  // are counted and reported.
  void AddSpan(TrackId track, uint16_t span_class, int64_t start_ns, int64_t end_ns,
               ItemId item = ItemId::None()) {
    if (end_ns < start_ns || !trace::IsTime(start_ns) || !trace::IsTime(end_ns)) [[unlikely]] {
      Repair(start_ns, end_ns);
    }
    allowance_.Charge(kSpanBytes);
    run_.tracks[track.value].spans.Append(start_ns, end_ns - start_ns, span_class, item);
  }
  // The trainer's thread waited for a batch of `stage`. `itself`: it did the stage's work
  // meanwhile, which explains the wait.
  void AddBatchWait(TrackId trainer, StageId stage, int64_t start_ns, int64_t end_ns, bool itself);

  // Makes the counters `name` and "`name` time", which a rule can ask: how many there were until
  // then, and how long they took together. None if nothing happened.
  void AddTotals(const std::string& name, std::vector<Occurrence> all);

  // Their tracks must be known. Times are repaired like a span's; enqueued 0 means unknown.
  void Add(trace::Kernel kernel);
  void Add(trace::Copy copy);
  void Add(const trace::Sample& sample);
  std::vector<trace::Kernel>& kernels() { return run_.rows.kernels; }
  std::vector<trace::Copy>& copies() { return run_.rows.copies; }

  // What this format or this file cannot show; goes to trust.limits. "transfer: why" if it concerns
  // a category.
  void Limit(std::string text);
  // A name was cut; no event is lost by that.
  void LimitNames();
  // What was wrong with the file and what was done about it, in one line without the file's name.
  void Warn(std::string text);
  // Bytes that could not be used; `cut`: the file ends inside an event that begins here.
  void Damaged(uint64_t offset, uint64_t bytes, std::string reason, bool cut = false);
  // More bytes of the damage reported last.
  void GrowDamage(uint64_t bytes);
  // Something odd but harmless that tools write: Finish() makes one warning of each kind, with the
  // count in front of "{event ends|events end} under another's name: ...".
  void Count(const std::string& kind, uint64_t count = 1) { counted_[kind] += count; }
  // The same for what is malformed or past a limit and was left out, cut or patched up: the run is
  // incomplete.
  void LeaveOut(const std::string& kind, uint64_t count = 1) {
    Count(kind, count);
    run_.quality.left_out += count;
  }

  // A Warn() about one thing that is lost.
  void Lose(std::string text) {
    ++run_.quality.left_out;
    Warn(std::move(text));
  }

  Allowance& allowance() { return allowance_; }

  const model::Run& run() const { return run_; }

  // The run with its spans in order and with its steps: those of `marks`, or if there are none,
  // what AddSteps (steps.h) finds. The builder is spent.
  model::Run Finish(const std::vector<StepMark>& marks);

 private:
  // A span's columns, and the keys and the copy that it is sorted with.
  static constexpr uint64_t kSpanBytes = 48;

  TrackId Track(trace::TrackInfo track);
  void Repair(int64_t& start_ns, int64_t& end_ns);
  std::string Cut(std::string_view name);

  Allowance unlimited_;
  Allowance& allowance_;
  model::Run run_;
  std::unordered_map<std::string, StageId> stages_;  // by name and kind
  std::set<std::pair<StageId, StageId>> connected_;
  model::StringInterner strings_;
  model::SpanClassInterner classes_;
  std::optional<int64_t> realtime_ahead_ns_;
  std::map<std::string, uint64_t> counted_;
};

}  // namespace stallscope::importers
