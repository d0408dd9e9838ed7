#include "analyzer/attribution/cold_start.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "analyzer/attribution/system_use.h"
#include "analyzer/model/job_spec.h"
#include "analyzer/model/profiled.h"

namespace stallscope::attribution {
namespace {

// A block has at least two steps. With fewer blocks than this, a real fall looks like chance.
constexpr size_t kMostBlocks = 40;
constexpr size_t kFewestBlocks = 12;
// Parts of any run differ by less than this.
constexpr double kLeastFall = 1.1;
// Standard errors: what the largest of 30 places in some ten stages must exceed.
constexpr double kClearly = 5;
// Share of the fall by which the rest may still fall: a straight line has half.
constexpr double kDrift = 0.25;
// Shares of the counted steps. A longer start is the run itself, unless it is an epoch.
constexpr double kLongest = 0.5;
constexpr double kLongestEpoch = 0.75;
constexpr double kLongestWarmUp = 0.25;
// Share of the stretch that the stage must lose: excluding steps for less is not worth it.
constexpr double kLeastShare = 0.02;
// Share of a stage's loss that a cause must explain.
constexpr double kExplains = 0.5;
// Distance from the end of the first pass, in blocks: workers read ahead.
constexpr double kNearPassEnd = 1.5;
// A cold cache reads this many times as much from the disk per step, and more than a few pages.
constexpr double kMoreFromDisk = 3;
constexpr double kLeastFromDisk = 64 * 1024;
// The first items of a worker.
constexpr double kFirstItems = 4;
// How many elements of the second pass to look for: its readers may begin in any order.
constexpr size_t kFirstOfPass = 64;

// A stage's work for the items that it began in one block of steps.
struct StepBlock {
  double ns = 0;  // own work and reads
  double io_ns = 0;
  double bytes = 0;
  double items = 0;
  double cpu_ns = 0;
  double cpu_items = 0;  // items with measured CPU time
};

struct StageSeries {
  std::vector<StepBlock> blocks;
  double tracks = 0;  // tracks that worked for it
};

// A figure per item, before and after a place.
struct Sides {
  double before = 0;
  double after = 0;
  double lost() const { return before - after; }
};

// Of a series, from the blocks before `block` to all others.
struct Fall {
  size_t block = 0;
  Sides mean;
};

double AverageOf(const std::vector<double>& values, size_t from, size_t to) {
  double sum = 0;
  for (size_t i = from; i < to; ++i) sum += values[i];
  return sum / static_cast<double>(to - from);
}

double SquaresOf(const std::vector<double>& values, size_t from, size_t to, double mean) {
  double sum = 0;
  for (size_t i = from; i < to; ++i) sum += (values[i] - mean) * (values[i] - mean);
  return sum;
}

// How much larger the error of a mean is than for independent blocks: a machine that drifts stays
// fast or slow for several of them. Uses the correlation of neighbors in the later half of the
// rest, which the end of a cold start does not reach.
double ErrorFactor(const std::vector<double>& values, size_t block) {
  constexpr double kMostCorrelated = 0.95;
  const size_t from = (block + values.size()) / 2;
  const double mean = AverageOf(values, from, values.size());
  const double squares = SquaresOf(values, from, values.size(), mean);
  double products = 0;
  for (size_t i = from + 1; i < values.size(); ++i) {
    products += (values[i - 1] - mean) * (values[i] - mean);
  }
  const double correlated = squares > 0 ? std::clamp(products / squares, 0.0, kMostCorrelated) : 0;
  return std::sqrt((1 + correlated) / (1 - correlated));
}

// True if the rest keeps falling: that is a drift.
bool GoesOn(const std::vector<double>& values, const Fall& fall) {
  const size_t middle = (fall.block + values.size()) / 2;
  const double more =
      AverageOf(values, fall.block, middle) - AverageOf(values, middle, values.size());
  return more >= kDrift * fall.mean.lost();
}

// True if a later stretch of the same length is more like the first one than like the rest.
bool ComesBack(const std::vector<double>& values, const Fall& fall) {
  const size_t length = std::min(fall.block, values.size() - fall.block);
  const double middle = (fall.mean.before + fall.mean.after) / 2;
  for (size_t i = fall.block; i + length <= values.size(); ++i) {
    if (AverageOf(values, i, i + length) >= middle) return true;
  }
  return false;
}

// The place that divides the series best, if the series falls there clearly and for good.
std::optional<Fall> FallOf(const std::vector<double>& values) {
  const size_t count = values.size();
  const auto most = static_cast<size_t>(kLongestEpoch * static_cast<double>(count));
  Fall fall;
  double best = 0;
  for (size_t block = 1; block <= most; ++block) {
    const Sides mean{AverageOf(values, 0, block), AverageOf(values, block, count)};
    if (mean.lost() <= 0) continue;
    const double between =
        static_cast<double>(block) * static_cast<double>(count - block) * mean.lost() * mean.lost();
    if (between <= best) continue;
    best = between;
    fall = {block, mean};
  }
  if (best <= 0 || fall.mean.before < kLeastFall * fall.mean.after) return std::nullopt;
  const double squares = SquaresOf(values, 0, fall.block, fall.mean.before) +
                         SquaresOf(values, fall.block, count, fall.mean.after);
  const double error = std::sqrt(
      squares / static_cast<double>(count - 2) *
      (1 / static_cast<double>(fall.block) + 1 / static_cast<double>(count - fall.block)));
  if (fall.mean.lost() < kClearly * error * ErrorFactor(values, fall.block)) return std::nullopt;
  return ComesBack(values, fall) || GoesOn(values, fall) ? std::nullopt : std::optional(fall);
}

class ColdSearch {
 public:
  ColdSearch(const model::Run& run, const std::vector<model::StepInterval>& intervals,
             const Window& counted)
      : run_(run), counted_(counted), stages_(run.stages.size()) {
    const std::vector<model::ProfiledStretch> stretches = model::ProfiledStretches(run);
    for (size_t row = counted.first_row; row < counted.first_row + counted.rows; ++row) {
      if (!model::IsProfiled(stretches, intervals[row])) steps_.push_back(intervals[row]);
    }
    for (const model::ProfiledStretch& stretch : stretches) {
      profiled_.push_back({stretch.start_ns, stretch.end_ns});
    }
    const size_t blocks = std::min(kMostBlocks, steps_.size() / 2);
    for (size_t i = 0; i < blocks; ++i) {
      const int64_t start = steps_[steps_.size() * i / blocks].start_ns;
      // Times that run backward are those of a damaged clock.
      starts_.push_back(starts_.empty() ? start : std::max(start, starts_.back()));
    }
    for (StageSeries& stage : stages_) stage.blocks.resize(blocks);
  }

  std::optional<ColdStart> Find(Cancel cancel) {
    if (starts_.size() < kFewestBlocks) return std::nullopt;
    for (const model::Track& track : run_.tracks) {
      if (cancel.requested()) return std::nullopt;
      if (track.info.kind == trace::TrackKind::kThread) ReadTrack(track);
    }
    pass_end_ns_ = EndOfFirstPass(run_);
    std::optional<ColdStart> found;
    double most = 0;
    int64_t end_ns = counted_.start_ns;
    for (const trace::StageInfo& stage : run_.stages) {
      double lost = 0;
      const auto cold = InStage(stage, lost);
      if (!cold.has_value()) continue;
      end_ns = std::max(end_ns, cold->end_ns);
      if (lost <= most) continue;
      most = lost;
      found = cold;
    }
    if (found.has_value()) Measure(end_ns, *found);
    return found;
  }

 private:
  struct Open {
    int64_t start_ns;
    int64_t ns;
    int64_t io_ns;
  };

  // Spans inside another one come before it.
  void ReadTrack(const model::Track& track) {
    const trace::SpanColumns& spans = track.spans;
    std::vector<Open> open;
    std::vector<bool> worked(stages_.size());
    for (size_t i = 0; i < spans.size(); ++i) {
      const trace::SpanClass& what = run_.ClassOf(track, i);
      if (what.activity != trace::SpanActivity::kNone) continue;
      const int64_t start = spans.start_ns[i];
      const int64_t ns = spans.DurationNs(i);
      int64_t inside = 0;
      int64_t io = 0;
      while (!open.empty() && open.back().start_ns >= start) {
        inside += open.back().ns;
        io += open.back().io_ns;
        open.pop_back();
      }
      if (what.kind == trace::SpanKind::kWait) {
        open.push_back({start, ns, what.cause == trace::WaitCause::kIo ? ns : io});
        continue;
      }
      open.push_back({start, ns, 0});
      if (!what.stage.known() || what.stage.value >= stages_.size()) continue;
      StageSeries& stage = stages_[what.stage.value];
      if (!worked[what.stage.value]) stage.tracks += 1;
      worked[what.stage.value] = true;
      StepBlock* const block = BlockAt(stage, start);
      if (block == nullptr) continue;
      const int64_t own = std::max<int64_t>(0, ns - inside);
      block->ns += static_cast<double>(own + io);
      block->io_ns += static_cast<double>(io);
      if (!spans.cpu_ns.empty() && spans.cpu_ns[i] != 0) {
        block->cpu_ns += static_cast<double>(spans.cpu_ns[i]);
        block->cpu_items += 1;
      }
      if (!spans.bytes.empty()) block->bytes += static_cast<double>(spans.bytes[i]);
      block->items += 1;
    }
  }

  StepBlock* BlockAt(StageSeries& stage, int64_t ns) const {
    if (ns >= counted_.end_ns) return nullptr;
    // The cost of a framework's profiler is no cold start.
    for (const model::TimeRange& profiled : profiled_) {
      if (ns >= profiled.start_ns && ns < profiled.end_ns) return nullptr;
    }
    const auto after = std::upper_bound(starts_.begin(), starts_.end(), ns);
    if (after == starts_.begin()) return nullptr;
    return &stage.blocks[static_cast<size_t>(after - starts_.begin()) - 1];
  }

  // The figure per item of all blocks before this one, and of the others.
  static Sides Per(const StageSeries& stage, size_t block, double StepBlock::*figure,
                   double StepBlock::*items = &StepBlock::items) {
    const auto of = [&](size_t from, size_t to) {
      double sum = 0;
      double count = 0;
      for (size_t i = from; i < to; ++i) {
        sum += stage.blocks[i].*figure;
        count += stage.blocks[i].*items;
      }
      return count > 0 ? sum / count : 0;
    };
    return {of(0, block), of(block, stage.blocks.size())};
  }

  std::optional<ColdStart> InStage(const trace::StageInfo& info, double& lost) const {
    // Filling a store costs more than reading it back: the simulation knows both.
    if (info.kind == "cache" || info.kind == "snapshot") return std::nullopt;
    const StageSeries& stage = stages_[info.id.value];
    std::vector<double> means;
    double items = 0;
    for (const StepBlock& block : stage.blocks) {
      if (block.items == 0) return std::nullopt;
      means.push_back(block.ns / block.items);
    }
    const std::optional<Fall> fall = FallOf(means);
    if (!fall.has_value() || SizesFell(*fall)) return std::nullopt;
    for (size_t i = 0; i < fall->block; ++i) items += stage.blocks[i].items;
    ColdStart cold;
    cold.start_ns = counted_.start_ns;
    cold.end_ns = NearPassEnd(*fall) ? *pass_end_ns_ : starts_[fall->block];
    cold.stage = info.id;
    cold.slower = fall->mean.before / fall->mean.after;
    lost = fall->mean.lost() * items;
    if (lost < kLeastShare * static_cast<double>(cold.end_ns - cold.start_ns)) return std::nullopt;
    const auto cause = CauseOf(info, means, *fall, items);
    if (!cause.has_value()) return std::nullopt;
    cold.cause = *cause;
    return cold;
  }

  // Why the stage was slow, if the trace shows it.
  std::optional<ColdCause> CauseOf(const trace::StageInfo& info, const std::vector<double>& means,
                                   const Fall& fall, double items) const {
    const StageSeries& stage = stages_[info.id.value];
    const auto explained = [&](const Sides& by) {
      return by.lost() >= kExplains * fall.mean.lost();
    };
    const double part = static_cast<double>(fall.block) / static_cast<double>(means.size());
    const bool epoch = NearPassEnd(fall);
    if (part > kLongest && !epoch) return std::nullopt;
    const bool trains = model::IsTrainer(info);
    if (!trains && (explained(Per(stage, fall.block, &StepBlock::io_ns)) || ReadFromDisk(fall)))
      return ColdCause::kPageCache;
    if (Tuned(fall)) return std::nullopt;
    if (!trains && epoch) return ColdCause::kFirstEpoch;
    if (!trains && StartsWorkers() && items <= kFirstItems * stage.tracks) {
      return ColdCause::kWorkers;
    }
    // Without such a sign, only a stage that alone burned more CPU, and was never as slow again for
    // even one block.
    const Sides cpu = Per(stage, fall.block, &StepBlock::cpu_ns, &StepBlock::cpu_items);
    if (part > kLongestWarmUp || !explained(cpu) || AllFell(info.id, fall)) return std::nullopt;
    const auto change = means.begin() + static_cast<std::ptrdiff_t>(fall.block);
    const bool apart =
        *std::min_element(means.begin(), change) > *std::max_element(change, means.end());
    return apart ? std::optional(ColdCause::kWarmUp) : std::nullopt;
  }

  bool NearPassEnd(const Fall& fall) const {
    if (!pass_end_ns_.has_value() || *pass_end_ns_ <= counted_.start_ns) return false;
    // In steps: an evaluation after a pass may take longer than many of them.
    const auto before = [&](int64_t ns) {
      return static_cast<double>(
          std::count_if(steps_.begin(), steps_.end(),
                        [&](const model::StepInterval& step) { return step.start_ns < ns; }));
    };
    const double length = static_cast<double>(steps_.size()) / static_cast<double>(starts_.size());
    const double off = before(*pass_end_ns_) - before(starts_[fall.block]);
    return std::fabs(off) <= kNearPassEnd * length;
  }

  // True if the elements themselves were larger.
  bool SizesFell(const Fall& fall) const {
    return std::any_of(stages_.begin(), stages_.end(), [&](const StageSeries& stage) {
      const Sides bytes = Per(stage, fall.block, &StepBlock::bytes);
      return bytes.after > 0 &&
             bytes.lost() / bytes.after > kExplains * fall.mean.lost() / fall.mean.after;
    });
  }

  bool ReadFromDisk(const Fall& fall) const {
    const auto of = [&](int64_t from, int64_t to, size_t blocks) -> std::optional<double> {
      Window part;
      part.start_ns = from;
      part.end_ns = to;
      const auto rate = CounterRates(run_, part).Rate("io.from_disk", run_.info.rank);
      if (!rate.has_value()) return std::nullopt;
      return *rate * static_cast<double>(to - from) / static_cast<double>(blocks);
    };
    const int64_t change = starts_[fall.block];
    const auto before = of(counted_.start_ns, change, fall.block);
    const auto after = of(change, counted_.end_ns, starts_.size() - fall.block);
    return before && after && *before >= kLeastFromDisk && *before >= kMoreFromDisk * *after;
  }

  // True if the online tuner turned a knob by then, or just after.
  bool Tuned(const Fall& fall) const {
    const size_t next = std::min(fall.block + 1, starts_.size() - 1);
    return std::any_of(
        run_.rows.knobs.begin(), run_.rows.knobs.end(),
        [&](const trace::KnobChange& knob) { return knob.time_ns <= starts_[next]; });
  }

  bool StartsWorkers() const {
    return std::any_of(run_.span_classes.begin(), run_.span_classes.end(), [](const auto& what) {
      return what.kind == trace::SpanKind::kWait && what.cause == trace::WaitCause::kStartup;
    });
  }

  // True if all other stages fell as well: something else on the machine ended.
  bool AllFell(StageId except, const Fall& fall) const {
    bool others = false;
    for (size_t i = 0; i < stages_.size(); ++i) {
      if (StageId{static_cast<uint32_t>(i)} == except) continue;
      const Sides ns = Per(stages_[i], fall.block, &StepBlock::ns);
      if (ns.before <= 0 || ns.after <= 0) continue;
      others = true;
      if (ns.lost() / ns.after < kExplains * fall.mean.lost() / fall.mean.after) return false;
    }
    return others;
  }

  // Counts the steps up to the first one that begins after the end.
  void Measure(int64_t end_ns, ColdStart& cold) const {
    size_t steps = 0;
    while (steps < steps_.size() && steps_[steps].start_ns < end_ns) ++steps;
    cold.steps = std::min(steps, steps_.size() - kFewestForInterval);
    cold.end_ns = steps_[cold.steps].start_ns;
    int64_t before = 0;
    int64_t after = 0;
    for (size_t i = 0; i < steps_.size(); ++i) {
      (i < cold.steps ? before : after) += steps_[i].end_ns - steps_[i].start_ns;
    }
    const auto later = static_cast<double>(after) / static_cast<double>(steps_.size() - cold.steps);
    cold.cost_ns = before - std::llround(later * static_cast<double>(cold.steps));
  }

  const model::Run& run_;
  const Window& counted_;
  std::vector<model::StepInterval> steps_;  // counted ones during which no profiler ran
  std::vector<model::TimeRange> profiled_;
  std::vector<int64_t> starts_;  // of the blocks
  std::vector<StageSeries> stages_;
  std::optional<int64_t> pass_end_ns_;
};

}  // namespace

std::string_view WordFor(ColdCause cause) {
  constexpr std::array<std::string_view, 4> kWords = {"page cache", "first epoch", "workers",
                                                      "warm-up"};
  return kWords[static_cast<size_t>(cause)];
}

std::optional<int64_t> EndOfFirstPass(const model::Run& run) {
  if (model::IsJob(run)) {
    if (run.rows.steps.empty()) return std::nullopt;
    const ItemId first = run.rows.steps.front().batch;
    for (const trace::Step& step : run.rows.steps) {
      if (model::LoaderOfBatch(step.batch) != model::LoaderOfBatch(first)) continue;
      if (model::PassOfBatch(step.batch) != model::PassOfBatch(first)) return step.requested_ns;
    }
    return std::nullopt;
  }
  std::vector<uint64_t> second;
  for (const trace::Element& element : run.rows.elements) {
    if (element.epoch == 0) continue;
    second.push_back(element.item.value);
    if (second.size() == kFirstOfPass) break;
  }
  if (second.empty()) return std::nullopt;
  std::sort(second.begin(), second.end());
  int64_t begun = std::numeric_limits<int64_t>::max();
  for (const model::Track& track : run.tracks) {
    const trace::SpanColumns& spans = track.spans;
    if (track.info.kind != trace::TrackKind::kThread) continue;
    for (size_t i = 0; i < spans.size(); ++i) {
      const uint64_t item = spans.item[i];
      if (item < second.front() || item > second.back() || spans.start_ns[i] >= begun) continue;
      if (std::binary_search(second.begin(), second.end(), item)) begun = spans.start_ns[i];
    }
  }
  return begun < std::numeric_limits<int64_t>::max() ? std::optional(begun) : std::nullopt;
}

std::optional<ColdStart> FindColdStart(const model::Run& run,
                                       const std::vector<model::StepInterval>& intervals,
                                       const Window& counted, Cancel cancel) {
  // Recordings of other profilers have no items, unless the profiler ran beside a recorded job.
  if ((run.imported() && !model::IsJob(run)) || !run.step_ranks.empty()) return std::nullopt;
  return ColdSearch(run, intervals, counted).Find(cancel);
}

}  // namespace stallscope::attribution
