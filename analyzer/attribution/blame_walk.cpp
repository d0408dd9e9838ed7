#include "analyzer/attribution/blame_walk.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "analyzer/model/job_spec.h"

namespace stallscope::attribution {
namespace {

// A chain of threads that wait for each other is at most as long as the pipeline; a longer one is a
// cycle.
constexpr int kLongestChain = 24;

Cause LargestOf(const Split& split) {
  const std::array<std::pair<int64_t, Cause>, 4> parts = {
      {{split.cpu_ns, Cause::kCpu},
       {split.contention_ns, Cause::kCpuContention},
       {split.blocked_ns, Cause::kBlocked},
       {split.unknown_ns, Cause::kUnknown}}};
  return std::max_element(parts.begin(), parts.end(),
                          [](const auto& a, const auto& b) { return a.first < b.first; })
      ->second;
}

// Whether this queue is the stage's own, or the one at the end of the job's loader that it is a
// part of: a worker process does the work of several stages, and has one queue in front of it.
bool FillsFor(const model::Run& run, StageId stage, QueueId queue) {
  const trace::StageInfo& info = run.stages[stage.value];
  if (queue == info.queue) return true;
  if (!queue.known() || !info.loader.known()) return false;
  const StageId producer = run.queues[queue.value].producer;
  return producer.known() && run.stages[producer.value].loader == info.loader;
}

// The native code of a tf.data graph needs no interpreter.
bool RunsInPython(const model::Run& run, StageId stage) {
  if (!stage.known() || !run.stages[stage.value].loader.known()) return false;
  if (model::IsTransport(run, stage)) return true;
  const size_t loader = run.stages[stage.value].loader.value;
  return loader < run.loaders.size() && !model::IsTfData(run.loaders[loader].info);
}

// Whether threads that were on the CPU for `cpu_ns` together were so one at a time, all the time.
bool TakeTurns(int64_t cpu_ns, Interval part) {
  constexpr double kNoise = 0.1;
  const double cores = static_cast<double>(cpu_ns) / static_cast<double>(part.ns());
  return cores >= 1 - kNoise && cores <= 1 + kNoise;
}

bool IsStartup(const trace::SpanClass& what) {
  return what.kind == trace::SpanKind::kWait && what.cause == trace::WaitCause::kStartup;
}

bool IsWork(const TrackView& view, size_t span) {
  return view.ClassOf(span).kind == trace::SpanKind::kWork;
}

}  // namespace

void Shares::Add(StageId stage, Cause cause, int64_t ns) {
  if (ns == 0) return;
  for (Share& share : shares_) {
    if (share.stage == stage && share.cause == cause) {
      share.ns += ns;
      return;
    }
  }
  shares_.push_back({stage, cause, ns});
}

void Shares::AddItem(ItemId item, StageId stage, int64_t ns) {
  if (!item.known()) return;
  if (!items_.empty() && items_.back().item == item && items_.back().stage == stage) {
    items_.back().ns += ns;
  } else {
    items_.push_back({item, stage, ns});
  }
}

void Shares::AddMean(const Shares& other, int64_t count) {
  std::vector<Share> sorted = other.shares_;
  std::sort(sorted.begin(), sorted.end(), [](const Share& a, const Share& b) {
    return std::pair(a.stage, a.cause) < std::pair(b.stage, b.cause);
  });
  int64_t left = 0;
  for (const Share& share : sorted) left += share.ns % count;
  for (const Share& share : sorted) {
    int64_t mean = share.ns / count;
    if (share.ns % count != 0 && left >= count) {
      ++mean;
      left -= count;
    }
    Add(share.stage, share.cause, mean);
  }
  for (const Item& item : other.items_) AddItem(item.item, item.stage, item.ns / count);
}

std::optional<Shares::Item> Shares::Heaviest() const {
  std::vector<Item> items = items_;
  std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
    return std::pair(a.item, a.stage) < std::pair(b.item, b.stage);
  });
  std::optional<Item> most;
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0 && items[i].item == items[i - 1].item && items[i].stage == items[i - 1].stage) {
      items[i].ns += items[i - 1].ns;
    }
    if (!most.has_value() || items[i].ns > most->ns) most = items[i];
  }
  return most;
}

void Shares::Link(TrackId track, StageId stage, Cause cause, Interval part, int depth,
                  trace::StringId op) {
  if (links_ == nullptr || part.ns() <= 0) return;
  links_->push_back({track, stage, cause, part.start_ns, part.end_ns, depth, op});
}

BlameWalk::BlameWalk(const model::Run& run, const std::vector<TrackView>& views,
                     const WorkSplit& split, const ItemPaths& paths)
    : run_(run), views_(views), split_(split), paths_(paths) {
  has_startup_ = std::any_of(run.span_classes.begin(), run.span_classes.end(), &IsStartup);
  for (const model::Track& track : run.tracks) {
    if (track.info.kind != trace::TrackKind::kThread) continue;
    tracks_[{track.info.stage, track.rank}].push_back(track.info.id);
    if (track.info.process.known() && track.info.stage.known()) {
      threads_[track.info.process].push_back(track.info.id);
    }
  }
}

const std::vector<TrackId>& BlameWalk::TracksOf(StageId stage, const TrackView& view) const {
  static const std::vector<TrackId> kNone;
  const auto tracks = tracks_.find({stage, view.track().rank});
  return tracks == tracks_.end() || !stage.known() ? kNone : tracks->second;
}

// While workers start, no batch has a way yet that could explain the wait.
void BlameWalk::ExplainStall(const std::vector<ItemPaths::Node>& path, TrackId waiting,
                             Interval stall, Shares& shares) const {
  if (!waiting.known() || !has_startup_) return ExplainWay(path, waiting, stall, shares);
  const TrackView& view = views_[waiting.value];
  Intervals rest = {stall};
  view.Walk(
      stall,
      [&](size_t span, Interval part) {
        if (!IsStartup(view.ClassOf(span))) return;
        ExplainWait(view, span, part, 0, shares);
        rest = Subtract(rest, part);
      },
      [](size_t, Interval) {});
  for (const Interval& piece : rest) ExplainWay(path, waiting, piece, shares);
}

// Backwards along the path: the work on the element itself, and between two pieces of it whatever
// kept the thread that took it next.
void BlameWalk::ExplainWay(const std::vector<ItemPaths::Node>& path, TrackId waiting,
                           Interval stall, Shares& shares) const {
  TrackId next = waiting;
  int64_t until = stall.end_ns;
  for (size_t i = path.size(); i-- > 0 && until > stall.start_ns;) {
    const ItemPaths::Node& node = path[i];
    if (node.at.start_ns >= until) continue;
    const int64_t end = std::min(node.at.end_ns, until);
    const Interval gap{std::max(end, stall.start_ns), until};
    if (next.known()) {
      Explain(next, gap, 0, shares);
    } else {
      Explain(node.track, gap, 0, shares);
    }
    const Interval work{std::max(node.at.start_ns, stall.start_ns), end};
    ExplainHead(views_[node.track.value].ClassOf(node.span).stage, node.track, work, 0, shares);
    until = std::max(std::min(node.at.start_ns, until), stall.start_ns);
    next = node.track;
  }
  const Interval before{stall.start_ns, until};
  if (before.ns() <= 0) return;
  if (next.known()) {
    Explain(next, before, 0, shares);
  } else {
    shares.Add(StageId::None(), Cause::kUnknown, before.ns());
  }
}

void BlameWalk::Explain(TrackId track, Interval range, int depth, Shares& shares) const {
  if (range.ns() <= 0) return;
  const TrackView& view = views_[track.value];
  view.Walk(
      range,
      [&](size_t span, Interval part) {
        if (IsWork(view, span)) {
          ExplainWork(view, span, part, depth, shares);
        } else if (depth >= kLongestChain) {
          Give(view, view.StageOf(span), Cause::kUnknown, part, depth, shares);
        } else {
          ExplainWait(view, span, part, depth, shares);
        }
      },
      [&](size_t after, Interval part) { ExplainGap(view, after, part, depth, shares); });
}

void BlameWalk::Give(const TrackView& view, StageId stage, Cause cause, Interval part, int depth,
                     Shares& shares) {
  shares.Add(stage, cause, part.ns());
  shares.Link(view.track().info.id, stage, cause, part, depth);
}

void BlameWalk::ExplainWork(const TrackView& view, size_t span, Interval part, int depth,
                            Shares& shares) const {
  const trace::SpanClass& what = view.ClassOf(span);
  const StageId stage = what.stage;
  Split split = split_.Of(view, span, part.ns());
  if (RunsInPython(run_, stage)) ExplainHeld(view, span, part, depth, split, shares);
  shares.Add(stage, Cause::kCpu, split.cpu_ns);
  shares.Add(stage, Cause::kCpuContention, split.contention_ns);
  shares.Add(stage, Cause::kBlocked, split.blocked_ns);
  shares.Add(stage, Cause::kUnknown, split.unknown_ns);
  shares.AddItem(ItemId{view.track().spans.item[span]}, stage, part.ns());
  shares.Link(view.track().info.id, stage, LargestOf(split), part, depth, what.name);
}

// Both ends of a transport run in threads beside those that do a process's work, and need its
// interpreter for each of their many short steps. The receiving end needs the sender's as well: it
// gets the memory of each array from a thread there. Other batches' transports count as such work.
// Other work may be off the CPU for reasons of its own: it waited for the interpreter only if the
// process's threads together were on one core all the time, as those are that take turns.
void BlameWalk::ExplainHeld(const TrackView& view, size_t span, Interval part, int depth,
                            Split& split, Shares& shares) const {
  const int64_t off_ns = split.contention_ns + split.blocked_ns;
  if (off_ns == 0) return;
  const bool transport = model::IsTransport(run_, view.ClassOf(span).stage);
  std::set<ProcessId> ends = {view.track().info.process};
  if (transport) {
    for (const ItemPaths::Node& node : paths_.WorkOn(ItemId{view.track().spans.item[span]})) {
      ends.insert(views_[node.track.value].track().info.process);
    }
  }
  Shares held;
  held.KeepLinks(shares.links());
  int64_t held_ns = 0;
  for (const ProcessId process : ends) {
    const auto threads = threads_.find(process);
    if (threads == threads_.end()) continue;
    for (const TrackId thread : threads->second) {
      if (thread == view.track().info.id) continue;
      const TrackView& other = views_[thread.value];
      other.Walk(
          part,
          [&](size_t i, Interval at) {
            const StageId stage = other.ClassOf(i).stage;
            if (!IsWork(other, i)) return;
            const Split works = split_.Of(other, i, at.ns());
            held.Add(stage, Cause::kCpu, works.cpu_ns);
            held.Add(stage, Cause::kCpuContention, works.contention_ns);
            held_ns += works.cpu_ns + works.contention_ns;
            held.Link(thread, stage, Cause::kCpu, at, depth + 1, other.ClassOf(i).name);
          },
          [](size_t, Interval) {});
    }
  }
  const int64_t given_ns = std::min(held_ns, off_ns);
  if (given_ns == 0 || !(transport || TakeTurns(split.cpu_ns + held_ns, part))) return;
  int64_t left_ns = given_ns;
  for (const Shares::Share& share : held.shares()) {
    const auto part_ns =
        static_cast<int64_t>(static_cast<double>(share.ns) / static_cast<double>(held_ns) *
                             static_cast<double>(given_ns));
    const int64_t ns = &share == &held.shares().back() ? left_ns : std::min(part_ns, left_ns);
    shares.Add(share.stage, share.cause, ns);
    left_ns -= ns;
  }
  const auto rest = static_cast<double>(off_ns - given_ns) / static_cast<double>(off_ns);
  split.contention_ns = static_cast<int64_t>(static_cast<double>(split.contention_ns) * rest);
  split.blocked_ns = off_ns - given_ns - split.contention_ns;
}

void BlameWalk::ExplainWait(const TrackView& view, size_t span, Interval part, int depth,
                            Shares& shares) const {
  const trace::SpanClass& wait = view.ClassOf(span);
  const StageId stage = view.StageOf(span);
  switch (wait.cause) {
    case trace::WaitCause::kEmpty:
      return ExplainEmpty(view, span, part, depth, shares);
    case trace::WaitCause::kLock:
      // Of the job's own, within the work: which worker has it is not recorded.
      if (model::IsJob(run_) && !model::IsTransport(run_, stage)) {
        return Give(view, stage, Cause::kLock, part, depth, shares);
      }
      return ExplainTurn(view, wait.queue, part, depth, shares);
    case trace::WaitCause::kIo:
      return Give(view, stage, Cause::kIo, part, depth, shares);
    case trace::WaitCause::kFull: {
      // While the trainer waits, demand is not the limit: a full queue is one whose head is
      // missing.
      const bool ordered =
          stage.known() && run_.stages[stage.value].ordered && run_.stages[stage.value].workers > 1;
      return Give(view, stage, ordered ? Cause::kOrder : Cause::kUnknown, part, depth, shares);
    }
    case trace::WaitCause::kDevice:
      return Give(view, stage, Cause::kBlocked, part, depth, shares);
    case trace::WaitCause::kStartup: {
      const StageId loader = wait.queue.known() ? run_.queues[wait.queue.value].producer : stage;
      return Give(view, loader.known() ? loader : stage, Cause::kStartup, part, depth, shares);
    }
    case trace::WaitCause::kUnknown:
      break;
  }
  Give(view, stage, Cause::kUnknown, part, depth, shares);
}

void BlameWalk::ExplainEmpty(const TrackView& view, size_t span, Interval part, int depth,
                             Shares& shares) const {
  const QueueId queue = view.ClassOf(span).queue;
  const StageId producer = queue.known() ? run_.queues[queue.value].producer : StageId::None();
  const std::vector<uint32_t>& wakers = view.track().spans.waker;
  const TrackId self = view.track().info.id;
  const TrackId waker =
      wakers.empty() || wakers[span] == 0 ? TrackId::None() : TrackId{wakers[span] - 1};
  if (!waker.known() || waker == self) {
    const std::vector<TrackId>& workers = TracksOf(producer, view);
    if (!workers.empty()) return ExplainWorkers(workers, part, depth + 1, shares);
    return Give(view, producer.known() ? producer : view.StageOf(span), Cause::kUnknown, part,
                depth, shares);
  }
  ExplainHead(producer, waker, part, depth + 1, shares);
}

// What everybody behind it waits for: the element whose turn it is, in a worker of `stage`.
void BlameWalk::ExplainHead(StageId stage, TrackId head, Interval part, int depth,
                            Shares& shares) const {
  if (part.ns() <= 0) return;
  Intervals rest = {part};
  for (const Interval& held : HeldByOrder(stage, views_[head.value], part)) {
    Give(views_[head.value], stage, Cause::kOrder, held, depth, shares);
    rest = Subtract(rest, held);
  }
  for (const Interval& piece : rest) Explain(head, piece, depth, shares);
}

Intervals BlameWalk::HeldByOrder(StageId stage, const TrackView& head, Interval part) const {
  const std::vector<TrackId>& workers = TracksOf(stage, head);
  if (!stage.known() || !run_.stages[stage.value].ordered || workers.size() < 2) return {};
  // +1 when a worker begins to wait for room, -1 when it ends.
  std::vector<std::pair<int64_t, int>> changes;
  size_t others = 0;
  for (const TrackId worker : workers) {
    const TrackView& view = views_[worker.value];
    // Those of a job's earlier and later passes are not there.
    if (worker == head.track().info.id || !view.LivesWithin(part)) continue;
    ++others;
    view.Walk(
        part,
        [&](size_t span, Interval piece) {
          const trace::SpanClass& what = view.ClassOf(span);
          if (what.kind != trace::SpanKind::kWait || what.cause != trace::WaitCause::kFull) return;
          if (!FillsFor(run_, stage, what.queue)) return;
          changes.emplace_back(piece.start_ns, 1);
          changes.emplace_back(piece.end_ns, -1);
        },
        [](size_t, Interval) {});
  }
  std::sort(changes.begin(), changes.end());
  Intervals held;
  size_t blocked = 0;
  int64_t since = 0;
  for (const auto& [time, change] : changes) {
    if (blocked > 0 && blocked * 2 >= others && since < time) held.push_back({since, time});
    blocked += static_cast<size_t>(change);
    since = time;
  }
  return held;
}

// Another worker of the same stage has its turn: the wait is for what that one does.
void BlameWalk::ExplainTurn(const TrackView& view, QueueId lock, Interval part, int depth,
                            Shares& shares) const {
  const StageId stage = view.track().info.stage;
  Intervals open = {part};
  for (const TrackId worker : TracksOf(stage, view)) {
    if (worker == view.track().info.id || open.empty()) continue;
    const TrackView& other = views_[worker.value];
    Intervals has_turn;
    for (const Interval& piece : open) {
      other.Walk(
          piece,
          [&](size_t span, Interval at) {
            const trace::SpanClass& what = other.ClassOf(span);
            const bool pulls =
                what.kind == trace::SpanKind::kWork
                    ? what.stage != stage
                    : what.cause == trace::WaitCause::kEmpty ||
                          (what.cause == trace::WaitCause::kIo && other.StageOf(span) != stage) ||
                          (what.cause == trace::WaitCause::kLock && what.queue != lock);
            if (pulls) has_turn.push_back(at);
          },
          [](size_t, Interval) {});
    }
    for (const Interval& at : has_turn) {
      Explain(worker, at, depth + 1, shares);
      open = Subtract(open, at);
    }
  }
  for (const Interval& rest : open) Give(view, stage, Cause::kLock, rest, depth, shares);
}

// All that wait do so for the same thing: one is enough. Others may have ended, or are yet to
// start: each pass over a tf.data graph has threads of its own.
TrackId BlameWalk::OneThatWaits(const std::vector<TrackId>& workers, Interval piece) const {
  TrackId longest = workers.front();
  int64_t most = 0;
  for (const TrackId worker : workers) {
    int64_t waits = 0;
    views_[worker.value].Walk(
        piece, [&](size_t, Interval at) { waits += at.ns(); }, [](size_t, Interval) {});
    if (waits <= most) continue;
    longest = worker;
    most = waits;
    if (most == piece.ns()) break;
  }
  return longest;
}

// Without knowing who brought it: equal shares over the workers that work, at each instant; if none
// does, what all of them wait for.
void BlameWalk::ExplainWorkers(const std::vector<TrackId>& workers, Interval part, int depth,
                               Shares& shares) const {
  std::vector<int64_t> bounds = {part.start_ns, part.end_ns};
  std::vector<Intervals> at_work(workers.size());
  for (size_t w = 0; w < workers.size(); ++w) {
    const TrackView& view = views_[workers[w].value];
    view.Walk(
        part,
        [&](size_t span, Interval at) {
          if (!IsWork(view, span)) return;
          at_work[w].push_back(at);
          bounds.push_back(at.start_ns);
          bounds.push_back(at.end_ns);
        },
        [](size_t, Interval) {});
  }
  std::sort(bounds.begin(), bounds.end());
  bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
  std::vector<size_t> next(workers.size());
  for (Intervals& intervals : at_work) {
    std::sort(intervals.begin(), intervals.end(),
              [](const Interval& a, const Interval& b) { return a.start_ns < b.start_ns; });
  }
  for (size_t i = 0; i + 1 < bounds.size(); ++i) {
    const Interval piece{bounds[i], bounds[i + 1]};
    std::vector<TrackId> busy;
    for (size_t w = 0; w < workers.size(); ++w) {
      while (next[w] < at_work[w].size() && at_work[w][next[w]].end_ns <= piece.start_ns) ++next[w];
      if (next[w] < at_work[w].size() && at_work[w][next[w]].start_ns <= piece.start_ns) {
        busy.push_back(workers[w]);
      }
    }
    if (busy.empty()) busy.push_back(OneThatWaits(workers, piece));
    Shares all;
    all.KeepLinks(shares.links());
    for (const TrackId worker : busy) Explain(worker, piece, depth, all);
    shares.AddMean(all, static_cast<int64_t>(busy.size()));
  }
}

// Nothing is recorded: the thread passes on what the preceding span made, unless events were lost
// or a profiler left them out.
void BlameWalk::ExplainGap(const TrackView& view, size_t after, Interval part, int depth,
                           Shares& shares) const {
  StageId stage = view.track().info.stage;
  // A profiler shows a stage's thread while it asks the stages before it, and not always what it
  // does with what it got.
  const bool own = run_.imported() && stage.known();
  if (!own && after > 0 && IsWork(view, after - 1)) stage = view.ClassOf(after - 1).stage;
  int64_t lost = part.ns();
  if (!own && view.track().spans.size() > 0) {
    Intervals gaps;
    for (const trace::Gap& gap : run_.GapsOf(view.track().info.id)) {
      gaps.push_back({gap.from_ns, gap.to_ns});
    }
    lost = Length(UnionWithin(std::move(gaps), part));
  }
  shares.Add(stage, Cause::kUnknown, lost);
  const Split split = split_.OfGap(view, part.ns() - lost);
  shares.Link(view.track().info.id, stage,
              lost * 2 > part.ns() ? Cause::kUnknown : LargestOf(split), part, depth);
  shares.Add(stage, Cause::kCpu, split.cpu_ns);
  shares.Add(stage, Cause::kCpuContention, split.contention_ns);
}

}  // namespace stallscope::attribution
