// A run made by hand, in memory: name a few things, say what happened, take the run.
//
//   RunBuilder b;
//   const StageId decode = b.Stage("decode", "map", 2);
//   const QueueId queue = b.Queue("decode", 4, decode);
//   const TrackId worker = b.Thread("decode/0", decode);
//   b.Work(worker, decode, 0, 40, {.item = 7, .cpu = 30});
//   b.Wait(trainer, WaitCause::kEmpty, queue, 0, 40, {.waker = worker});
//   b.Step({.index = 0, .requested = 0, .received = 40, .issued = 45, .done = 95});
//   Attribute(b.Take());
//
// Spans of a track are given in the order of their ends, as a recorder emits them. A time that
// runs backwards is kept as it is given: that is what some tests are about.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/attribution/attribution.h"
#include "analyzer/model/run.h"

namespace stallscope::test {

constexpr uint64_t kNoItem = ~uint64_t{0};

struct SpanExtras {
  uint64_t item = kNoItem;
  uint64_t cpu = 0;  // 0: was not taken
  uint64_t bytes = 0;
  TrackId waker = TrackId::None();
};

struct StepTimes {
  uint64_t index = 0;
  int64_t requested = 0;
  int64_t received = 0;
  std::optional<int64_t> issued;  // none: as soon as it was received
  int64_t done = 0;
  uint64_t batch = kNoItem;
  TrackId track = TrackId::None();
  uint32_t samples = 1;
  uint32_t rank = 0;
};

struct KernelTimes {
  int64_t enqueued = 0;
  std::string name = "matmul";
  uint64_t graph = 0;
  uint64_t correlation = 0;
};

class RunBuilder {
 public:
  RunBuilder() {
    run.format = "sst";
    run.info.name = "test";
    run.info.host.cores_online = 4;
  }

  model::Run run;  // whatever the calls below do not say

  StageId Stage(const std::string& name, const std::string& kind = "map", uint32_t workers = 1,
                bool ordered = true, std::vector<StageId> inputs = {}) {
    const StageId id{static_cast<uint32_t>(run.stages.size())};
    run.stages.push_back({id, name, kind, std::move(inputs), QueueId::None(), workers, ordered});
    return id;
  }
  // Filled by `producer`.
  QueueId Queue(const std::string& name, uint64_t capacity, StageId producer = StageId::None(),
                uint32_t rank = 0) {
    const QueueId id{static_cast<uint32_t>(run.queues.size())};
    run.queues.push_back({{id, name, capacity, false}, producer, rank});
    if (producer.known()) run.stages[producer.value].queue = id;
    return id;
  }
  QueueId Lock(const std::string& name) {
    const QueueId id = Queue(name, 0);
    run.queues[id.value].info.lock = true;
    return id;
  }
  TrackId Thread(const std::string& name, StageId stage = StageId::None(), uint32_t rank = 0) {
    return AddTrack(name, trace::TrackKind::kThread, stage, 0, rank);
  }
  TrackId Stream(uint32_t device = 0, uint32_t rank = 0) {
    return AddTrack("stream", trace::TrackKind::kStream, StageId::None(), device, rank);
  }
  TrackId CopyEngine(uint32_t device = 0, uint32_t rank = 0) {
    return AddTrack("copies", trace::TrackKind::kCopyEngine, StageId::None(), device, rank);
  }
  CounterId Counter(const std::string& name) {
    const CounterId id{static_cast<uint32_t>(run.counters.size())};
    run.counters.push_back({id, name, "ns"});
    return id;
  }
  void Sample(CounterId counter, int64_t time_ns, double value) {
    run.rows.samples.push_back({time_ns, value, counter});
  }
  // "thread7.run_wait" of the track's thread: grows by `ns` from `start_ns` to `end_ns`.
  void ThreadCounter(TrackId track, const std::string& what, int64_t start_ns, int64_t end_ns,
                     double ns) {
    const uint64_t thread = run.tracks[track.value].info.thread;
    const CounterId id = Counter("thread" + std::to_string(thread) + "." + what);
    Sample(id, start_ns, 1000);
    Sample(id, end_ns, 1000 + ns);
  }
  trace::StringId Text(const std::string& text) {
    for (size_t i = 0; i < run.strings.size(); ++i) {
      if (run.strings[i] == text) return trace::StringId{static_cast<uint32_t>(i)};
    }
    run.strings.push_back(text);
    return trace::StringId{static_cast<uint32_t>(run.strings.size() - 1)};
  }

  void Work(TrackId track, StageId stage, int64_t start_ns, int64_t end_ns,
            SpanExtras extras = {}) {
    Add(track, {trace::SpanKind::kWork, stage, trace::WaitCause::kUnknown, {}}, start_ns, end_ns,
        extras);
  }
  // A named piece of the work in which it lies.
  void Op(TrackId track, StageId stage, trace::StringId name, int64_t start_ns, int64_t end_ns,
          SpanExtras extras = {}) {
    trace::SpanClass what{trace::SpanKind::kWork, stage, trace::WaitCause::kUnknown, {}};
    what.name = name;
    what.activity = trace::SpanActivity::kOp;
    Add(track, what, start_ns, end_ns, extras);
  }
  // Of no stage.
  void Named(TrackId track, const std::string& name, trace::SpanActivity activity, int64_t start_ns,
             int64_t end_ns) {
    trace::SpanClass what{trace::SpanKind::kWork, {}, trace::WaitCause::kUnknown, {}};
    what.name = Text(name);
    what.activity = activity;
    Add(track, what, start_ns, end_ns, {});
  }
  void Wait(TrackId track, trace::WaitCause cause, QueueId queue, int64_t start_ns, int64_t end_ns,
            SpanExtras extras = {}) {
    Add(track, {trace::SpanKind::kWait, {}, cause, queue}, start_ns, end_ns, extras);
  }
  void Step(const StepTimes& t) {
    run.rows.steps.push_back({t.index, t.requested, t.received, t.issued.value_or(t.received),
                              t.done, ItemId{t.batch}, t.track, t.samples, 0});
    ranks_.push_back(t.rank);
  }
  void Batch(uint64_t batch, uint64_t last_arrival) {
    run.rows.batches.push_back({0, ItemId{batch}, ItemId{last_arrival}, {}, 1, {}});
  }
  void Kernel(TrackId track, int64_t start_ns, int64_t end_ns, const KernelTimes& more = {}) {
    run.rows.kernels.push_back({more.enqueued,
                                start_ns,
                                end_ns,
                                {},
                                more.correlation,
                                more.graph,
                                track,
                                Text(more.name)});
  }
  void Copy(TrackId track, int64_t start_ns, int64_t end_ns, uint64_t bytes = 0,
            trace::CopyDirection direction = trace::CopyDirection::kHostToDevice,
            trace::CopyMemory memory = trace::CopyMemory::kUnknown) {
    run.rows.copies.push_back({start_ns, start_ns, end_ns, {}, bytes, 0, track, direction, memory});
  }
  void Push(QueueId queue, int64_t time_ns, uint32_t depth) {
    run.rows.queue_events.push_back({time_ns, {}, queue, {}, depth, trace::QueueOp::kPush});
  }
  void Gap(TrackId track, int64_t from_ns, int64_t to_ns) {
    run.rows.gaps.push_back({from_ns, to_ns, 1, track});
  }

  // The run as run.h promises it: optional columns padded, steps and gaps in order.
  model::Run Take() {
    for (model::Track& track : run.tracks) track.spans.PadOptional();
    std::vector<size_t> order(run.rows.steps.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto& steps = run.rows.steps;
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return std::pair(steps[a].index, ranks_[a]) < std::pair(steps[b].index, ranks_[b]);
    });
    std::vector<trace::Step> sorted;
    for (const size_t i : order) {
      sorted.push_back(steps[i]);
      run.step_ranks.push_back(ranks_[i]);
    }
    run.rows.steps = std::move(sorted);
    const bool several = std::any_of(ranks_.begin(), ranks_.end(), [](uint32_t r) { return r; });
    if (!several) run.step_ranks.clear();
    std::stable_sort(run.rows.gaps.begin(), run.rows.gaps.end(), [](const auto& a, const auto& b) {
      return std::pair(a.track, a.from_ns) < std::pair(b.track, b.from_ns);
    });
    return std::move(run);
  }

 private:
  TrackId AddTrack(const std::string& name, trace::TrackKind kind, StageId stage, uint32_t device,
                   uint32_t rank) {
    const TrackId id{static_cast<uint32_t>(run.tracks.size())};
    model::Track track;
    track.info = {id, name, kind, stage, 1000 + id.value, device};
    track.rank = rank;
    run.tracks.push_back(std::move(track));
    return id;
  }
  uint16_t ClassOf(const trace::SpanClass& what) {
    for (size_t i = 0; i < run.span_classes.size(); ++i) {
      if (run.span_classes[i] == what) return static_cast<uint16_t>(i);
    }
    run.span_classes.push_back(what);
    return static_cast<uint16_t>(run.span_classes.size() - 1);
  }
  void Add(TrackId track, const trace::SpanClass& what, int64_t start_ns, int64_t end_ns,
           const SpanExtras& extras) {
    trace::SpanColumns& spans = run.tracks[track.value].spans;
    const int64_t ns = std::max<int64_t>(0, end_ns - start_ns);
    const size_t at = spans.size();
    spans.start_ns.push_back(start_ns);
    if (ns >= int64_t{trace::SpanColumns::kLongDuration}) {
      spans.duration.push_back(trace::SpanColumns::kLongDuration);
      spans.long_durations.emplace_back(at, ns);
    } else {
      spans.duration.push_back(static_cast<uint32_t>(ns));
    }
    spans.span_class.push_back(ClassOf(what));
    spans.item.push_back(extras.item);
    const auto set = [at](auto& column, auto value) {
      if (value == 0) return;
      column.resize(at);
      column.push_back(value);
    };
    set(spans.bytes, extras.bytes);
    set(spans.cpu_ns, extras.cpu);
    if (extras.waker.known()) set(spans.waker, extras.waker.value + 1);
  }

  std::vector<uint32_t> ranks_;  // of the steps, in the order they were given
};

// "decode cpu 110, decode blocked 30": by name, so that a test reads like METHOD.md.
inline std::string BlameText(const model::Run& run, const attribution::Attribution& attribution) {
  std::vector<std::string> parts;
  for (const attribution::Blame& blame : attribution.blame) {
    const std::string stage =
        blame.stage.known() ? std::string(run.NameOf(blame.stage)) : std::string("nothing");
    parts.push_back(stage + " " + std::string(attribution::WordFor(blame.cause)) + " " +
                    std::to_string(blame.ns));
  }
  std::sort(parts.begin(), parts.end());
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

inline int64_t NsOf(const attribution::Attribution& attribution, attribution::Category category) {
  const auto& total = attribution.breakdown[attribution::At(category)];
  return total.has_value() ? total->ns : -1;
}

}  // namespace stallscope::test
