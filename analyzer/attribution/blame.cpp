#include "analyzer/attribution/blame.h"

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>
#include <numeric>
#include <set>
#include <unordered_map>
#include <vector>

#include "analyzer/base/thread.h"
#include "analyzer/model/job_spec.h"
#include "analyzer/model/profiled.h"

namespace stallscope::attribution {
namespace {

constexpr size_t kBurstReach = 64;  // batches to each side
constexpr double kBurstMargin = 1.05;

// Around a bucket, each weighted by how near it is: with equal weights a burst more or less at the
// reach's end would decide. Beyond the run's ends it is mirrored.
double Around(const std::vector<double>& values, size_t at, size_t reach) {
  const size_t last = values.size() - 1;
  double sum = values[at];
  for (size_t distance = 1; distance <= reach; ++distance) {
    const double before = values[distance <= at ? at - distance : distance - at];
    const double after = values[at + distance <= last ? at + distance : 2 * last - at - distance];
    sum += (before + after) * (1 - static_cast<double>(distance) / static_cast<double>(reach + 1));
  }
  return sum;
}

double All(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

uint32_t WorkersOf(const model::Run& run, StageId stage) {
  return stage.known() ? std::max<uint32_t>(run.stages[stage.value].workers, 1) : 1;
}

// True for a job's step whose trainer takes the next batch from another pass.
bool EndsPass(const model::Run& run, size_t row) {
  if (!model::IsJob(run)) return false;
  const std::vector<trace::Step>& steps = run.rows.steps;
  for (size_t next = row + 1; next < steps.size(); ++next) {
    if (run.RankOfStep(next) != run.RankOfStep(row)) continue;
    return model::PassOfBatch(steps[next].batch) != model::PassOfBatch(steps[row].batch);
  }
  return false;
}

// Could the pipeline have kept up on average? Then only bursts emptied the queue, and a larger one
// would have helped.
class Bursts {
 public:
  explicit Bursts(const BlameInput& input);

  // Capacity over the 64 batches before and after a counted step (of its rank) is at least 1.05
  // times what the trainer would have taken without stalls.
  bool OnlyBursts(size_t counted_step) const;

 private:
  void AddDemand(const BlameInput& input);
  void AddNeeds(const BlameInput& input);

  // By bucket.
  std::vector<double> demand_ns_;  // step time that no batch's lateness makes longer
  // A group of threads or a stage: work / workers; all of them: CPU time / cores.
  std::vector<std::vector<double>> needs_ns_;
  std::set<uint32_t> ranks_;
  const StepBuckets& buckets_;
};

Bursts::Bursts(const BlameInput& input)
    : demand_ns_(input.buckets.size()), buckets_(input.buckets) {
  AddDemand(input);
  AddNeeds(input);
}

void Bursts::AddDemand(const BlameInput& input) {
  size_t step = 0;
  for (size_t i = 0; i < input.partition.steps.size(); ++i) {
    const StepShare& share = input.partition.steps[i];
    ranks_.insert(share.rank);
    if (share.rank != input.partition.steps.front().rank) continue;
    int64_t needed = share.end_ns - share.start_ns - share.ns[At(Category::kInputStall)];
    // A job's loader begins a pass when the loop does: it gets nothing ready while the job
    // evaluates between two.
    if (EndsPass(input.run, input.window.first_row + i)) {
      needed -= share.ns[At(Category::kOther)];
    }
    demand_ns_[buckets_.OfStep(step++)] += static_cast<double>(needed);
  }
}

// Of a stage's work, the fraction on the CPU.
double OnCpu(const BlameInput& input, StageId stage) {
  int64_t work_ns = 0;
  for (const TrackUse& track : input.totals.tracks) {
    const auto use = track.stages.find(stage);
    if (use != track.stages.end()) work_ns += use->second.own_ns + use->second.io_ns;
  }
  if (work_ns <= 0) return 0;
  return static_cast<double>(input.split.OfStage(stage).cpu_ns) / static_cast<double>(work_ns);
}

void Bursts::AddNeeds(const BlameInput& input) {
  const model::Run& run = input.run;
  // Threads share their time among the stages that run in them; a stage's own workers bound it
  // wherever it runs.
  std::map<StageId, std::vector<double>> groups;
  std::map<StageId, std::vector<double>> stages;
  // However many workers a stage has, they burn no more than the cores give. Each rank may have a
  // machine of its own.
  std::vector<double> cpu;
  const double cores = input.cores * static_cast<double>(ranks_.size());
  const auto add = [&](std::vector<double>& need, const StageWork& work, double parallel) {
    need.resize(buckets_.size());
    for (size_t i = 0; i < work.busy_by_bucket.size(); ++i) {
      need[i] += static_cast<double>(work.busy_by_bucket[i]) / parallel;
    }
  };
  for (const auto& [key, work] : input.totals.work) {
    const auto& [owner, stage] = key;
    if (model::IsTrainer(run, stage)) continue;
    const double on_cpu = OnCpu(input, stage);
    if (model::IsJob(run) && model::IsTrainer(run, owner)) {
      // The loop of each rank does it itself before it gets a batch, however full the queue is.
      // What it waits for meanwhile is a worker, which has the interpreter lock.
      if (FeedsSteps(run, stage) && on_cpu > 0) {
        add(demand_ns_, work, static_cast<double>(ranks_.size()) / on_cpu);
      }
      continue;
    }
    if (cores > 0 && on_cpu > 0) add(cpu, work, cores / on_cpu);
    add(groups[owner], work, model::IsTrainer(run, owner) ? 1 : WorkersOf(run, owner));
    add(stages[stage], work, WorkersOf(run, stage));
  }
  for (auto* needs : {&groups, &stages}) {
    for (auto& [stage, need] : *needs) needs_ns_.push_back(std::move(need));
  }
  if (!cpu.empty()) needs_ns_.push_back(std::move(cpu));
}

bool Bursts::OnlyBursts(size_t counted_step) const {
  if (demand_ns_.empty() || needs_ns_.empty()) return false;
  const size_t reach = std::max<size_t>(kBurstReach / buckets_.steps_per_bucket(), 1);
  const size_t at = std::min(buckets_.OfStep(counted_step), demand_ns_.size() - 1);
  // A run that is shorter than the reach counts as a whole.
  const bool whole = demand_ns_.size() < 2 * reach + 1;
  const auto sum = [&](const std::vector<double>& values) {
    return whole ? All(values) : Around(values, at, reach);
  };
  double most = 0;
  for (const std::vector<double>& need : needs_ns_) most = std::max(most, sum(need));
  return most > 0 && sum(demand_ns_) >= kBurstMargin * most;
}

// By stage: whether a queue is between it and the trainer, which could hold more. A foreign trace
// does not always show a queue's capacity; then threads of the stage that fills it show that it has
// one. A stage that works in the trainer's own thread has none.
std::vector<bool> QueueAfter(const model::Run& run, const SpanTotals& totals) {
  std::vector<bool> threads(run.stages.size());
  for (const model::Track& track : run.tracks) {
    if (track.info.kind != trace::TrackKind::kThread || !track.info.stage.known()) continue;
    threads[track.info.stage.value] = true;
  }
  std::vector<bool> after(run.stages.size());
  for (size_t i = 0; i < after.size(); ++i) {
    const QueueId queue = run.stages[i].queue;
    if (!queue.known() || run.queues[queue.value].info.lock) continue;
    // A foreign shuffle has a buffer, which its caller's thread fills: it holds nothing ready.
    const bool shuffles = run.imported() && run.stages[i].kind.find("huffle") != std::string::npos;
    after[i] = (run.queues[queue.value].info.capacity > 0 && !shuffles) || threads[i];
  }
  // A queue that no stage fills holds the batches that the trainer's feed keeps on the device:
  // every stage is upstream of it.
  const bool ours = !run.imported() && !model::IsJob(run);
  const bool on_device =
      ours && std::any_of(run.queues.begin(), run.queues.end(), [](const model::Queue& queue) {
        return !queue.info.lock && !queue.producer.known() && queue.info.capacity > 0;
      });
  for (size_t i = 0; on_device && i < after.size(); ++i) {
    if (!model::IsTrainer(run.stages[i])) after[i] = true;
  }
  // Up from the consumers: inputs may be in any order, so until nothing changes.
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < after.size(); ++i) {
      if (!after[i]) continue;
      for (const StageId input : run.stages[i].inputs) {
        if (!input.known() || after[input.value]) continue;
        after[input.value] = changed = true;
      }
    }
  }
  // What the loop of a job does itself, no queue holds ready: choosing a batch's indices, unpacking
  // what came from a worker.
  for (const auto& [key, work] : totals.work) {
    const auto& [owner, stage] = key;
    if (model::IsJob(run) && stage.known() && model::IsTrainer(run, owner))
      after[stage.value] = false;
  }
  return after;
}

// By stage: whether a job's workers wait in it for a lock that they share, so that several of them
// do not deliver what their work alone would allow.
std::vector<bool> StagesThatTakeTurns(const model::Run& run, const SpanTotals& totals) {
  std::vector<bool> turns(run.stages.size());
  if (!model::IsJob(run)) return turns;
  std::map<StageId, TrackStage> sums;
  for (const TrackUse& track : totals.tracks) {
    for (const auto& [stage, use] : track.stages) {
      sums[stage].own_ns += use.own_ns;
      sums[stage].lock_ns += use.lock_ns;
    }
  }
  for (const auto& [stage, sum] : sums) {
    if (!stage.known() || model::IsTransport(run, stage)) continue;
    turns[stage.value] =
        static_cast<double>(sum.lock_ns) > kTakeTurns * static_cast<double>(sum.own_ns);
  }
  return turns;
}

constexpr size_t kPiece = 64;  // steps that a thread takes at a time
constexpr size_t kMostStragglers = 1'000;

// The stalls of one step on one device.
struct Stall {
  size_t row = 0;           // of Run::rows.steps
  size_t counted_step = 0;  // within its rank; of a warm-up step the first
  Intervals pieces;
};

// Warm-up steps among them: a rank's last one may reach into the window. Where requests overlap, as
// only a clock that runs backwards makes them, the first step has the time, so that none is
// explained twice.
std::vector<Stall> StallsOf(const model::Run& run, const Window& window,
                            const std::vector<model::StepInterval>& intervals,
                            const DeviceTimeline& timeline) {
  std::vector<Stall> stalls;
  size_t slice = 0;
  size_t counted = 0;
  int64_t explained_until = window.start_ns;
  const std::vector<Slice>& slices = timeline.slices;
  for (size_t row = 0; row < window.first_row + window.rows; ++row) {
    if (run.RankOfStep(row) != timeline.rank) continue;
    const trace::Step& step = run.rows.steps[row];
    Stall stall{row, row < window.first_row ? 0 : counted++, {}};
    // The trainer of an imported run may fetch anywhere in its step, and that of a job may start
    // workers after the batch.
    const bool anywhere = run.imported() || model::IsJob(run);
    const int64_t until = anywhere ? intervals[row].end_ns : step.received_ns;
    const Interval asked{std::max(step.requested_ns, explained_until), until};
    explained_until = std::max(explained_until, until);
    if (asked.ns() <= 0) continue;
    while (slice < slices.size() && slices[slice].end_ns <= asked.start_ns) ++slice;
    for (size_t s = slice; s < slices.size() && slices[s].start_ns < asked.end_ns; ++s) {
      if (slices[s].category != Category::kInputStall) continue;
      const Interval part{std::max(slices[s].start_ns, asked.start_ns),
                          std::min(slices[s].end_ns, asked.end_ns)};
      if (part.ns() > 0) stall.pieces.push_back(part);
    }
    if (!stall.pieces.empty()) stalls.push_back(std::move(stall));
  }
  return stalls;
}

int64_t StallNs(const DeviceTimeline& timeline) {
  int64_t ns = 0;
  for (const Slice& slice : timeline.slices) {
    if (slice.category == Category::kInputStall) ns += slice.end_ns - slice.start_ns;
  }
  return ns;
}

class Blamer {
 public:
  Blamer(const BlameInput& input, const std::vector<std::vector<Stall>>& stalls, unsigned threads,
         Cancel cancel)
      : input_(input),
        paths_(input.run, input.views, RowsOf(stalls), threads, cancel),
        walk_(input.run, input.views, input.split, paths_),
        bursts_(input),
        queue_after_(QueueAfter(input.run, input.totals)),
        takes_turns_(StagesThatTakeTurns(input.run, input.totals)) {}

  Shares Explain(const Stall& stall, std::vector<ChainLink>* links = nullptr) const {
    const trace::Step& step = input_.run.rows.steps[stall.row];
    Shares raw;
    raw.KeepLinks(links);
    int64_t since_ns = std::numeric_limits<int64_t>::min();
    for (const ItemPaths::Awaited& awaited : paths_.AwaitedWith(step.batch)) {
      const std::vector<ItemPaths::Node> path = paths_.Of(awaited.batch);
      for (const Interval& piece : stall.pieces) {
        const Interval part{std::max(piece.start_ns, since_ns),
                            std::min(piece.end_ns, awaited.until_ns)};
        if (part.ns() > 0) walk_.ExplainStall(path, step.track, part, raw);
      }
      since_ns = awaited.until_ns;
    }
    return raw;
  }

  // The cause as it is reported.
  Cause Relabelled(const Shares::Share& share, bool only_bursts) const {
    const Cause cause = share.cause;
    if (cause == Cause::kStartup || cause == Cause::kUnknown) return cause;
    // A larger buffer gives way neither to order nor to a lock, and there must be one.
    const bool buffered =
        share.stage.known() && queue_after_[share.stage.value] && !takes_turns_[share.stage.value];
    if (only_bursts && buffered && cause != Cause::kOrder && cause != Cause::kLock) {
      return Cause::kBuffer;
    }
    const bool serial = share.stage.known() && input_.serial[share.stage.value];
    if (serial && cause != Cause::kIo && cause != Cause::kCpuContention) {
      return Cause::kSerial;
    }
    return cause;
  }
  // From the beginning of the work on the item in that stage to its end; 0 if there is none.
  int64_t TookNs(ItemId item, StageId stage) const {
    std::optional<Interval> all;
    for (const ItemPaths::Node& node : paths_.WorkOn(item)) {
      if (input_.run.ClassOf(input_.run.tracks[node.track.value], node.span).stage != stage)
        continue;
      if (!all.has_value()) all = node.at;
      all = Interval{std::min(all->start_ns, node.at.start_ns),
                     std::max(all->end_ns, node.at.end_ns)};
    }
    return all.has_value() ? all->end_ns - all->start_ns : 0;
  }
  bool OnlyBursts(const Stall& stall) const { return bursts_.OnlyBursts(stall.counted_step); }

 private:
  static std::vector<size_t> RowsOf(const std::vector<std::vector<Stall>>& stalls) {
    std::vector<size_t> rows;
    for (const auto& device : stalls) {
      for (const Stall& stall : device) rows.push_back(stall.row);
    }
    return rows;
  }

  const BlameInput& input_;
  const ItemPaths paths_;
  const BlameWalk walk_;
  const Bursts bursts_;
  const std::vector<bool> queue_after_;
  const std::vector<bool> takes_turns_;
};

// A step that waited much longer than most, for one element.
std::optional<Straggler> StragglerOf(const model::Run& run, const Stall& stall,
                                     const Shares& shares) {
  const auto heaviest = shares.Heaviest();
  const int64_t ns = Length(stall.pieces);
  if (!heaviest.has_value() || heaviest->ns * 2 < ns) return std::nullopt;
  Straggler straggler;
  straggler.step = run.rows.steps[stall.row].index;
  straggler.stall_ns = ns;
  straggler.element_ns = heaviest->ns;
  straggler.start_ns = stall.pieces.front().start_ns;
  straggler.stage = heaviest->stage;
  straggler.element = heaviest->item;
  int64_t most = 0;
  for (const Shares::Share& share : shares.shares()) {
    if (share.stage != heaviest->stage || share.ns <= most) continue;
    most = share.ns;
    straggler.cause = share.cause;
  }
  return straggler;
}

void NameStragglers(const model::Run& run, std::vector<Straggler>& stragglers) {
  std::unordered_map<uint64_t, const trace::Element*> wanted;
  for (const Straggler& straggler : stragglers) wanted[straggler.element.value] = nullptr;
  for (const trace::Element& element : run.rows.elements) {
    const auto found = wanted.find(element.item.value);
    if (found != wanted.end() && found->second == nullptr) found->second = &element;
  }
  for (Straggler& straggler : stragglers) {
    const trace::Element* const element = wanted[straggler.element.value];
    if (element == nullptr) continue;
    straggler.file = element->file;
    straggler.record = element->record;
  }
}

// Batches that the shim slowed down by timing their lines.
Intervals TimedLines(const model::Run& run) {
  std::vector<bool> is_one;
  for (const trace::SpanClass& what : run.span_classes) {
    is_one.push_back(what.activity == trace::SpanActivity::kAnnotation &&
                     run.Text(what.name) == model::kTimingOfLines);
  }
  Intervals timed;
  if (std::find(is_one.begin(), is_one.end(), true) == is_one.end()) return timed;
  for (const model::Track& track : run.tracks) {
    for (size_t i = 0; i < track.spans.size(); ++i) {
      if (!is_one[track.spans.span_class[i]]) continue;
      timed.push_back({track.spans.start_ns[i], track.spans.EndNs(i)});
    }
  }
  return timed;
}

// Steps that waited for such a batch for most of their stall.
void DropThoseOfOurs(const model::Run& run, std::vector<Straggler>& stragglers) {
  const Intervals timed = TimedLines(run);
  std::erase_if(stragglers, [&](const Straggler& straggler) {
    const int64_t end_ns = straggler.start_ns + straggler.stall_ns;
    return std::any_of(timed.begin(), timed.end(), [&](const Interval& one) {
      const int64_t both =
          std::min(one.end_ns, end_ns) - std::max(one.start_ns, straggler.start_ns);
      return both >= straggler.stall_ns / 2;
    });
  });
}

// At least three times the median of the stalls that there were, and of all steps' means a tenth.
void KeepTheWorst(const Window& window, std::vector<int64_t> stalls,
                  std::vector<Straggler>& stragglers) {
  if (stalls.empty() || window.rows == 0) {
    stragglers.clear();
    return;
  }
  // Steps without a stall count as well.
  stalls.resize(std::max(stalls.size(), window.rows));
  const auto middle = stalls.begin() + static_cast<std::ptrdiff_t>(stalls.size() / 2);
  std::nth_element(stalls.begin(), middle, stalls.end());
  const int64_t median = *middle;
  const int64_t tenth = window.ns() / static_cast<int64_t>(window.rows) / 10;
  // Three times the median may be more than 64 bits hold.
  const auto is_small = [&](const Straggler& s) {
    return s.stall_ns / 3 < median || s.stall_ns < tenth;
  };
  stragglers.erase(std::remove_if(stragglers.begin(), stragglers.end(), is_small),
                   stragglers.end());
  std::sort(stragglers.begin(), stragglers.end(), [](const Straggler& a, const Straggler& b) {
    return a.stall_ns != b.stall_ns ? a.stall_ns > b.stall_ns : a.step < b.step;
  });
  if (stragglers.size() > kMostStragglers) stragglers.resize(kMostStragglers);
}

std::vector<std::vector<Stall>> AllStalls(const BlameInput& input) {
  std::vector<std::vector<Stall>> stalls;
  const std::vector<model::StepInterval> intervals = model::StepIntervals(input.run);
  for (const DeviceTimeline& timeline : input.partition.timelines) {
    stalls.push_back(StallsOf(input.run, input.window, intervals, timeline));
  }
  return stalls;
}

}  // namespace

std::vector<StallDetail> DetailStalls(const BlameInput& input, unsigned threads, Cancel cancel) {
  const std::vector<std::vector<Stall>> stalls = AllStalls(input);
  const Blamer blamer(input, stalls, threads, cancel);
  std::vector<StallDetail> details;
  for (size_t d = 0; d < stalls.size(); ++d) {
    const DeviceTimeline& timeline = input.partition.timelines[d];
    std::vector<std::vector<StallDetail>> pieces(stalls[d].size());
    ForEachParallel(stalls[d].size(), threads, [&](size_t i) {
      if (cancel.requested()) return;
      const Stall& stall = stalls[d][i];
      const Shares shares = blamer.Explain(stall);
      const bool only_bursts = blamer.OnlyBursts(stall);
      for (const Shares::Share& share : shares.shares()) {
        pieces[i].push_back({stall.row, timeline.rank, timeline.device,
                             stall.pieces.front().start_ns, stall.pieces.back().end_ns, share.stage,
                             blamer.Relabelled(share, only_bursts), share.ns});
      }
    });
    for (const auto& piece : pieces) details.insert(details.end(), piece.begin(), piece.end());
  }
  std::stable_sort(details.begin(), details.end(), [](const StallDetail& a, const StallDetail& b) {
    return a.step_row < b.step_row;
  });
  return details;
}

std::vector<ChainLink> ChainOfStall(const BlameInput& input, size_t step_row, unsigned threads,
                                    Cancel cancel) {
  std::vector<std::vector<Stall>> stalls = AllStalls(input);
  for (std::vector<Stall>& device : stalls) {
    device.erase(std::remove_if(device.begin(), device.end(),
                                [&](const Stall& stall) { return stall.row != step_row; }),
                 device.end());
  }
  const Blamer blamer(input, stalls, threads, cancel);
  std::vector<ChainLink> links;
  for (const std::vector<Stall>& device : stalls) {
    if (!links.empty()) break;  // several devices wait for the same batch: one tells for all
    for (const Stall& stall : device) {
      if (cancel.requested()) return {};
      blamer.Explain(stall, &links);
    }
  }
  std::stable_sort(links.begin(), links.end(),
                   [](const ChainLink& a, const ChainLink& b) { return a.start_ns < b.start_ns; });
  return links;
}

StallBlame BlameStalls(const BlameInput& input, unsigned threads, Cancel cancel) {
  StallBlame result;
  const std::vector<std::vector<Stall>> stalls = AllStalls(input);
  const Blamer blamer(input, stalls, threads, cancel);

  std::mutex mutex;
  std::map<std::pair<StageId, Cause>, int64_t> sums;
  std::vector<int64_t> lengths;
  for (size_t d = 0; d < stalls.size(); ++d) {
    const std::vector<Stall>& device = stalls[d];
    int64_t unexplained = StallNs(input.partition.timelines[d]);
    for (const Stall& stall : device) {
      lengths.push_back(Length(stall.pieces));
      unexplained -= lengths.back();
    }
    if (unexplained > 0) sums[{StageId::None(), Cause::kUnknown}] += unexplained;
    ForEachParallel(device.size() / kPiece + 1, threads, [&](size_t piece) {
      if (cancel.requested()) return;
      std::map<std::pair<StageId, Cause>, int64_t> mine;
      std::vector<Straggler> stragglers;
      const size_t end = std::min(device.size(), (piece + 1) * kPiece);
      for (size_t i = piece * kPiece; i < end; ++i) {
        const Shares shares = blamer.Explain(device[i]);
        const bool only_bursts = blamer.OnlyBursts(device[i]);
        for (const Shares::Share& share : shares.shares()) {
          mine[{share.stage, blamer.Relabelled(share, only_bursts)}] += share.ns;
        }
        if (auto straggler = StragglerOf(input.run, device[i], shares)) {
          straggler->took_ns = blamer.TookNs(straggler->element, straggler->stage);
          stragglers.push_back(*straggler);
        }
      }
      const std::lock_guard lock(mutex);
      for (const auto& [key, ns] : mine) sums[key] += ns;
      result.stragglers.insert(result.stragglers.end(), stragglers.begin(), stragglers.end());
    });
  }
  DropThoseOfOurs(input.run, result.stragglers);
  KeepTheWorst(input.window, std::move(lengths), result.stragglers);
  NameStragglers(input.run, result.stragglers);

  // The devices' mean, as the breakdown is; what rounding leaves goes to the first that lost some.
  const auto devices = static_cast<int64_t>(input.partition.timelines.size());
  int64_t left = input.partition.ns[At(Category::kInputStall)];
  for (const auto& [key, ns] : sums) left -= ns / devices;
  const auto window_ns = static_cast<double>(input.window.ns());
  for (const auto& [key, ns] : sums) {
    int64_t mean = ns / devices;
    const bool rounded = ns % devices != 0 && left > 0;
    mean += rounded ? 1 : 0;
    left -= rounded ? 1 : 0;
    if (mean == 0) continue;
    result.blame.push_back({key.first, key.second, mean, static_cast<double>(mean) / window_ns});
  }
  std::stable_sort(result.blame.begin(), result.blame.end(),
                   [](const Blame& a, const Blame& b) { return a.ns > b.ns; });
  return result;
}

}  // namespace stallscope::attribution
