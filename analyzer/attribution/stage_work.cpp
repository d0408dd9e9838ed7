#include "analyzer/attribution/stage_work.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <utility>

#include "analyzer/attribution/waiting_ops.h"
#include "analyzer/base/thread.h"

namespace stallscope::attribution {
namespace {

// Two clocks are read one after the other, and an interrupt is nobody's wait: less than this share
// of a span off the CPU means nothing.
constexpr double kNoise = 0.03;

constexpr size_t kMostBuckets = 16384;

// A thread's CPU time is no evidence about its recorded work if the thread may have spent it on
// other work, and the two possible answers are further apart than this.
constexpr double kWidestFraction = 0.3;

// The share of a thread's recorded work during which it was on a core. The trainer's thread also
// computes, which a profile of its pipeline does not show.
std::optional<double> FractionOfThread(int64_t own_ns, int64_t gap_ns, const ThreadTime& thread) {
  const auto own = static_cast<double>(own_ns);
  const double most = std::min(1.0, *thread.on_cpu_ns / own);
  const double its_own = *thread.on_cpu_ns - thread.called_ns;
  const double least =
      (thread.called_ns + std::max(0.0, its_own - static_cast<double>(gap_ns))) / own;
  if (thread.beside && most - least > kWidestFraction) return std::nullopt;
  return most;
}

class Pass {
 public:
  Pass(const TrackView& view, const Window& window, const StepBuckets& buckets)
      : view_(view), spans_(view.track().spans), window_(window), buckets_(buckets) {}

  TrackUse use;
  std::map<StageId, StageWork> work;

  void Run(Cancel cancel) {
    for (size_t i = 0; i < spans_.size(); ++i) {
      if (i % kAskEvery == 0 && cancel.requested()) return;
      const Interval at = view_.At(i);
      const Inside inside = TakeChildren(at);
      const trace::SpanClass& what = view_.ClassOf(i);
      if (at.end_ns > window_.start_ns && at.start_ns < window_.end_ns) {
        if (what.kind == trace::SpanKind::kWork) {
          AddWork(i, what, at, inside);
        } else {
          AddWait(i, what, at);
        }
      }
      if (view_.Final(i)) {
        open_.clear();
      } else {
        const bool waits = what.kind == trace::SpanKind::kWait;
        // An op is a part of the work around it.
        const bool others = waits ? what.cause == trace::WaitCause::kEmpty
                                  : what.activity != trace::SpanActivity::kOp;
        open_.push_back({at.start_ns, Cut(at), waits ? Cut(at) : inside.waits_ns,
                         others ? at.ns() : inside.others_ns, waits ? 0 : CpuOf(i, at)});
      }
      covered_ns_ += Cut(at) - inside.ns;
      first_ns_ = std::min(first_ns_, at.start_ns);
      last_ns_ = std::max(last_ns_, at.end_ns);
    }
    if (spans_.size() == 0) return;
    use.gap_ns = std::max<int64_t>(0, Cut({first_ns_, last_ns_}) - covered_ns_);
  }

 private:
  struct Stage {
    TrackStage* use = nullptr;
    StageWork* work = nullptr;
  };
  struct Open {
    int64_t start_ns;
    int64_t cut_ns;
    int64_t waits_ns;
    int64_t others_ns;
    int64_t cpu_ns;
  };
  struct Inside {
    int64_t ns = 0;
    int64_t waits_ns = 0;  // of this, also inside other work
    // Other work, and waiting for it, which are no part of this one's service; not cut.
    int64_t others_ns = 0;
    int64_t cpu_ns = 0;
  };

  int64_t Cut(Interval at) const {
    return std::max<int64_t>(
        0, std::min(at.end_ns, window_.end_ns) - std::max(at.start_ns, window_.start_ns));
  }

  int64_t CpuOf(size_t i, Interval at) const {
    if (spans_.cpu_ns.empty()) return 0;
    return static_cast<int64_t>(std::min(spans_.cpu_ns[i], static_cast<uint64_t>(at.ns())));
  }

  // The time of the spans inside this one, which represents them from now on.
  Inside TakeChildren(Interval at) {
    Inside inside;
    while (!open_.empty() && open_.back().start_ns >= at.start_ns) {
      inside.ns += open_.back().cut_ns;
      inside.waits_ns += open_.back().waits_ns;
      inside.others_ns += open_.back().others_ns;
      inside.cpu_ns += open_.back().cpu_ns;
      open_.pop_back();
    }
    return inside;
  }

  // A thread does the work of several stages in turn: a look into the map at each span would be a
  // fifth of the whole pass.
  Stage& Of(StageId id) {
    const size_t at = id.known() ? size_t{id.value} + 1 : 0;
    if (at >= stages_.size()) stages_.resize(at + 1);
    Stage& stage = stages_[at];
    if (stage.use == nullptr) {
      stage = {&use.stages[id], &work[id]};
      stage.work->busy_by_bucket.resize(buckets_.size());
    }
    return stage;
  }

  void AddBusy(const Stage& stage, int64_t end_ns, int64_t ns) {
    if (buckets_.size() == 0) return;
    bucket_ = buckets_.Find(end_ns, bucket_);
    stage.work->busy_by_bucket[std::min(bucket_, buckets_.size() - 1)] += ns;
  }

  void AddOp(size_t i, OpWork& op, Interval at, const Inside& inside) {
    has_ops_ = true;
    ++op.count;
    const int64_t own = std::max<int64_t>(0, Cut(at) - inside.ns);
    op.own_ns += own;
    op.whole_ns += std::max<int64_t>(0, Cut(at) - inside.waits_ns);
    const int64_t cpu = CpuOf(i, at);
    if (cpu == 0 || Cut(at) < at.ns()) return;
    op.measured_ns += own;
    op.measured_cpu_ns += std::clamp<int64_t>(cpu - inside.cpu_ns, 0, own);
  }

  void AddWork(size_t i, const trace::SpanClass& what, Interval at, const Inside& inside) {
    const Stage& stage = Of(what.stage);
    const int64_t own = std::max<int64_t>(0, Cut(at) - inside.ns);
    stage.use->own_ns += own;
    AddBusy(stage, at.end_ns, own);
    if (what.activity == trace::SpanActivity::kOp) {
      return AddOp(i, stage.work->ops[what.name], at, inside);
    }
    if (has_ops_) stage.work->sampled_ns += Cut(at);
    has_ops_ = false;
    if (at.end_ns > window_.end_ns) return;
    stage.work->service.Add(std::max<int64_t>(0, at.ns() - inside.others_ns));
    if (!spans_.bytes.empty()) stage.work->bytes += spans_.bytes[i];
    if (spans_.cpu_ns.empty() || spans_.cpu_ns[i] == 0 || at.start_ns < window_.start_ns) return;
    // The thread's clock went on during the work inside, too.
    const int64_t measured = std::max<int64_t>(0, Cut(at) - inside.waits_ns);
    stage.use->measured_ns += measured;
    stage.use->measured_cpu_ns +=
        static_cast<int64_t>(std::min(spans_.cpu_ns[i], static_cast<uint64_t>(measured)));
  }

  void AddWait(size_t i, const trace::SpanClass& what, Interval at) {
    const int64_t ns = Cut(at);
    switch (what.cause) {
      case trace::WaitCause::kEmpty:
        use.empty_ns += ns;
        return;
      case trace::WaitCause::kFull:
        use.full_ns += ns;
        return;
      case trace::WaitCause::kIo:
      case trace::WaitCause::kLock: {
        const Stage& stage = Of(view_.StageOf(i));
        (what.cause == trace::WaitCause::kIo ? stage.use->io_ns : stage.use->lock_ns) += ns;
        // Waiting for one's turn is no work; a read is what the stage is there for.
        if (what.cause == trace::WaitCause::kIo) AddBusy(stage, at.end_ns, ns);
        return;
      }
      case trace::WaitCause::kUnknown:
      case trace::WaitCause::kDevice:
      case trace::WaitCause::kStartup:
        return;
    }
  }

  const TrackView& view_;
  const trace::SpanColumns& spans_;
  const Window& window_;
  const StepBuckets& buckets_;
  std::vector<Open> open_;     // spans that a later one may enclose
  std::vector<Stage> stages_;  // by number + 1, None first
  size_t bucket_ = 0;
  bool has_ops_ = false;  // the next span of work is the one around them
  int64_t covered_ns_ = 0;
  int64_t first_ns_ = std::numeric_limits<int64_t>::max();
  int64_t last_ns_ = std::numeric_limits<int64_t>::min();
};

}  // namespace

StepBuckets::StepBuckets(const std::vector<StepShare>& steps) {
  std::vector<int64_t> step_ends;
  for (const StepShare& step : steps) {
    if (step.rank == steps.front().rank) step_ends.push_back(step.end_ns);
  }
  steps_per_bucket_ = step_ends.size() / kMostBuckets + 1;
  for (size_t i = 0; i < step_ends.size(); i += steps_per_bucket_) {
    const size_t last = std::min(i + steps_per_bucket_, step_ends.size()) - 1;
    ends_.push_back(ends_.empty() ? step_ends[last] : std::max(ends_.back(), step_ends[last]));
  }
}

size_t StepBuckets::Find(int64_t time_ns, size_t hint) const {
  size_t bucket = std::min(hint, ends_.size());
  while (bucket < ends_.size() && ends_[bucket] <= time_ns) ++bucket;
  while (bucket > 0 && ends_[bucket - 1] > time_ns) --bucket;
  return bucket;
}

void StageWork::Merge(const StageWork& other) {
  bytes += other.bytes;
  service.Merge(other.service);
  sampled_ns += other.sampled_ns;
  for (const auto& [name, op] : other.ops) {
    OpWork& mine = ops[name];
    mine.count += op.count;
    mine.own_ns += op.own_ns;
    mine.whole_ns += op.whole_ns;
    mine.measured_ns += op.measured_ns;
    mine.measured_cpu_ns += op.measured_cpu_ns;
  }
  busy_by_bucket.resize(std::max(busy_by_bucket.size(), other.busy_by_bucket.size()));
  for (size_t i = 0; i < other.busy_by_bucket.size(); ++i) {
    busy_by_bucket[i] += other.busy_by_bucket[i];
  }
}

// Threads come and go by the thousand: what is large is added up as soon as a track is done. Only
// whole numbers are, so the order does not matter.
SpanTotals PassOverSpans(const std::vector<TrackView>& views, const Window& window,
                         const StepBuckets& buckets, unsigned threads, Cancel cancel) {
  SpanTotals totals;
  totals.tracks.resize(views.size());
  std::mutex mutex;
  ForEachParallel(views.size(), threads, [&](size_t i) {
    // What a thread did in detail, and what a device did, is no stage's.
    const trace::TrackKind kind = views[i].track().info.kind;
    if (kind == trace::TrackKind::kDetail || kind == trace::TrackKind::kStream) return;
    Pass pass(views[i], window, buckets);
    pass.Run(cancel);
    totals.tracks[i] = std::move(pass.use);
    const std::lock_guard lock(mutex);
    for (const auto& [stage, work] : pass.work) {
      totals.work[{views[i].track().info.stage, stage}].Merge(work);
    }
  });
  return totals;
}

namespace {

// Of those of loaders that have ops.
StageId StageThatLoadsMost(const model::Run& run, const SpanTotals& totals) {
  std::map<StageId, int64_t> own;
  for (const TrackUse& track : totals.tracks) {
    for (const auto& [stage, use] : track.stages) {
      if (!stage.known() || !run.stages[stage.value].loader.known()) continue;
      if (!model::IsTransport(run, stage)) own[stage] += use.own_ns;
    }
  }
  const auto most = std::max_element(
      own.begin(), own.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == own.end() ? StageId::None() : most->first;
}

}  // namespace

void TakeOpsOfWholeRun(const model::Run& run, const std::vector<TrackView>& views, unsigned threads,
                       SpanTotals& totals, Cancel cancel) {
  const StageId stage = StageThatLoadsMost(run, totals);
  if (!stage.known() || run.ops.empty()) return;
  for (const auto& [key, work] : totals.work) {
    if (key.second == stage && !work.ops.empty()) return;
  }
  const Window whole{.start_ns = kEver.start_ns, .end_ns = kEver.end_ns};
  SpanTotals all = PassOverSpans(views, whole, StepBuckets({}), threads, cancel);
  for (auto& [key, work] : totals.work) {
    const auto found = all.work.find(key);
    if (key.second != stage || found == all.work.end()) continue;
    work.ops = std::move(found->second.ops);
    work.sampled_ns = found->second.sampled_ns;
  }
}

void LeaveOutWorkAhead(const model::Run& run, const std::vector<TrackView>& views,
                       SpanTotals& totals) {
  const auto is_trainers = [&](size_t track) {
    return model::IsTrainer(run, views[track].track().info.stage);
  };
  std::map<StageId, int64_t> completed;
  int64_t waits_ns = 0;
  for (size_t t = 0; t < views.size(); ++t) {
    if (!is_trainers(t)) continue;
    waits_ns += totals.tracks[t].empty_ns;
    for (const auto& [stage, use] : totals.tracks[t].stages) {
      // Each end of a transport has a part of its own.
      if (!stage.known() || !run.stages[stage.value].loader.known()) continue;
      if (!model::IsTransport(run, stage)) completed[stage] += use.own_ns + use.io_ns;
    }
  }
  std::map<StageId, int64_t> more_cpu;  // of the trainer than of the others
  for (size_t t = 0; t < views.size(); ++t) {
    for (const auto& [stage, use] : totals.tracks[t].stages) {
      more_cpu[stage] += is_trainers(t) ? use.measured_cpu_ns : -use.measured_cpu_ns;
    }
  }
  std::erase_if(completed, [&](const auto& each) {
    return each.second <= waits_ns || more_cpu[each.first] < 0;
  });
  std::erase_if(totals.work, [&](const auto& each) {
    const auto& [owner, stage] = each.first;
    return completed.contains(stage) && !model::IsTrainer(run, owner);
  });
  for (size_t t = 0; t < views.size(); ++t) {
    if (is_trainers(t)) continue;
    std::erase_if(totals.tracks[t].stages,
                  [&](const auto& each) { return completed.contains(each.first); });
  }
}

WorkSplit::WorkSplit(const model::Run& run, const std::vector<TrackView>& views,
                     const SpanTotals& totals, const std::vector<ThreadTime>& threads)
    : totals_(totals),
      thread_fraction_(views.size()),
      contention_share_(views.size()),
      gap_contention_share_(views.size()) {
  std::map<StageId, std::pair<int64_t, int64_t>> measured;  // own time, CPU
  for (const TrackUse& track : totals.tracks) {
    for (const auto& [stage, use] : track.stages) {
      measured[stage].first += use.measured_ns;
      measured[stage].second += use.measured_cpu_ns;
    }
  }
  for (const auto& [stage, sums] : measured) {
    if (sums.first > 0) {
      cpu_fraction_[stage] = static_cast<double>(sums.second) / static_cast<double>(sums.first);
    }
  }
  FindPools(run);
  for (size_t t = 0; t < views.size(); ++t) {
    int64_t own = 0;
    for (const auto& [stage, use] : totals.tracks[t].stages) own += use.own_ns;
    if (own > 0 && threads[t].on_cpu_ns.has_value()) {
      thread_fraction_[t] = FractionOfThread(own, totals.tracks[t].gap_ns, threads[t]);
    }
    double off_cpu = 0;
    double worked = 0;
    for (const auto& [stage, use] : totals.tracks[t].stages) {
      const auto fraction = CpuFraction(stage, TrackId{static_cast<uint32_t>(t)});
      if (!fraction.has_value()) continue;
      worked += static_cast<double>(use.own_ns) * *fraction;
      off_cpu += static_cast<double>(use.own_ns) * (1 - *fraction);
    }
    if (!threads[t].run_wait_ns.has_value()) continue;
    knows_contention_ = true;
    // Between two spans a thread hands over its result and blocks for nothing. Time there without
    // work is a wait for a core, often after a push that woke another thread.
    const auto gap = static_cast<double>(totals.tracks[t].gap_ns);
    const double passing = std::max(0.0, threads[t].on_cpu_ns.value_or(worked) - worked);
    const double lost = std::min(*threads[t].run_wait_ns, std::max(0.0, gap - passing));
    if (gap > 0) gap_contention_share_[t] = lost / gap;
    if (off_cpu > 0) {
      contention_share_[t] = std::min(1.0, (*threads[t].run_wait_ns - lost) / off_cpu);
    }
  }
}

// Of what a stage's sampled work was off the CPU for, a pool's part.
void WorkSplit::FindPools(const model::Run& run) {
  std::map<StageId, std::pair<double, double>> computed;  // by a pool, and all off the CPU
  for (const auto& [key, work] : totals_.work) {
    const auto fraction = cpu_fraction_.find(key.second);
    if (fraction == cpu_fraction_.end()) continue;
    auto& [pools, off] = computed[key.second];
    off += (1 - fraction->second) * static_cast<double>(work.sampled_ns);
    for (const auto& [name, op] : work.ops) {
      if (op.measured_ns == 0 || !run.Text(name).starts_with(kWaitsForPool)) continue;
      pools += static_cast<double>(op.own_ns) * static_cast<double>(op.measured_cpu_ns) /
               static_cast<double>(op.measured_ns);
    }
  }
  for (const auto& [stage, sums] : computed) {
    if (sums.second > 0) pool_share_[stage] = std::min(1.0, sums.first / sums.second);
  }
}

std::optional<double> WorkSplit::CpuFraction(StageId stage, TrackId track) const {
  const auto known = cpu_fraction_.find(stage);
  if (known != cpu_fraction_.end()) return known->second;
  return thread_fraction_[track.value];
}

Split WorkSplit::Divide(int64_t ns, StageId stage, std::optional<double> cpu_fraction,
                        double contention_share) const {
  Split split;
  if (!cpu_fraction.has_value()) {
    split.unknown_ns = ns;
    return split;
  }
  const double off = 1 - *cpu_fraction;
  const auto off_ns = off < kNoise
                          ? int64_t{0}
                          : std::clamp<int64_t>(std::llround(off * static_cast<double>(ns)), 0, ns);
  split.cpu_ns = ns - off_ns;
  split.contention_ns =
      std::clamp<int64_t>(std::llround(contention_share * static_cast<double>(off_ns)), 0, off_ns);
  split.blocked_ns = off_ns - split.contention_ns;
  if (const auto pool = pool_share_.find(stage); pool != pool_share_.end()) {
    const auto computed = std::llround(pool->second * static_cast<double>(split.blocked_ns));
    split.cpu_ns += computed;
    split.blocked_ns -= computed;
  }
  return split;
}

Split WorkSplit::Of(const TrackView& view, size_t span, int64_t ns) const {
  const trace::SpanColumns& spans = view.track().spans;
  const TrackId track = view.track().info.id;
  std::optional<double> fraction;
  if (!spans.cpu_ns.empty() && spans.cpu_ns[span] != 0) {
    // Waits inside are told apart by themselves; the outermost one holds those inside it.
    const Interval at = view.At(span);
    int64_t own = at.ns();
    int64_t outer_start = at.end_ns;
    for (size_t i = span; i-- > 0 && spans.EndNs(i) > at.start_ns;) {
      const Interval inner = view.At(i);
      if (inner.start_ns < at.start_ns || inner.end_ns > outer_start) continue;
      if (view.ClassOf(i).kind != trace::SpanKind::kWait) continue;
      own -= inner.ns();
      outer_start = inner.start_ns;
    }
    if (own > 0) {
      fraction = std::min(1.0, static_cast<double>(spans.cpu_ns[span]) / static_cast<double>(own));
    }
  }
  const trace::SpanClass& what = view.ClassOf(span);
  const bool measured = fraction.has_value() && what.activity == trace::SpanActivity::kOp;
  if (!fraction.has_value()) fraction = CpuFraction(what.stage, track);
  // The time of an op that waits for a pool is the pool's.
  return Divide(ns, measured ? StageId::None() : what.stage, fraction,
                contention_share_[track.value]);
}

Split WorkSplit::OfGap(const TrackView& view, int64_t ns) const {
  Split split = Divide(ns, StageId::None(), 0.0, gap_contention_share_[view.track().info.id.value]);
  split.cpu_ns = std::exchange(split.blocked_ns, 0);
  return split;
}

Split WorkSplit::OfStage(StageId stage) const {
  Split sum;
  for (size_t t = 0; t < totals_.tracks.size(); ++t) {
    const auto use = totals_.tracks[t].stages.find(stage);
    if (use == totals_.tracks[t].stages.end()) continue;
    const Split split =
        Divide(use->second.own_ns, stage, CpuFraction(stage, TrackId{static_cast<uint32_t>(t)}),
               contention_share_[t]);
    sum.cpu_ns += split.cpu_ns;
    sum.contention_ns += split.contention_ns;
    sum.blocked_ns += split.blocked_ns;
    sum.unknown_ns += split.unknown_ns;
  }
  return sum;
}

}  // namespace stallscope::attribution
