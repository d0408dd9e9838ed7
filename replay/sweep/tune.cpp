#include "replay/sweep/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analyzer/spec/knobs.h"
#include "analyzer/words/words.h"
#include "replay/sweep/moves.h"
#include "replay/whatif/price.h"

namespace stallscope::replay {
namespace {

// The smallest effect worth naming, as `compare` has it.
constexpr double kNoise = 0.02;
// Within this the simulation considers two configurations equally fast.
constexpr double kAsFast = 1.005;
// Kept back for base and best in turn.
constexpr unsigned kRunsToConfirm = 4;
constexpr unsigned kFewestRunsToConfirm = 6;
constexpr size_t kMostRunsOfOne = 5;
// Proposals in a row that turned out to be no better.
constexpr unsigned kMostFailures = 3;
// That a run on fewer cores may lose.
constexpr double kAsBusy = 0.98;

double RateOf(const Try& tried) {
  const auto measured = Measured(tried.point);
  return measured ? measured->samples_per_s : 0;
}

class TuneRun {
 public:
  TuneRun(const Predictor* predictor, const Spec& base, Bench* bench, const TuneOptions& options)
      : predictor_(predictor), options_(options), bench_(bench) {
    tuned_.base.spec = base;
  }

  Result<Tuned> Tune();

 private:
  bool Stopped() const {
    return options_.limits.stop_requested && options_.limits.stop_requested();
  }
  const Try& Best() const { return tuned_.best ? tuned_.tries[*tuned_.best] : tuned_.base; }
  std::vector<Patch> Ideas() const;
  std::string Untried() const;
  std::string Unlimited() const;
  bool Tried(const Spec& spec, int cores) const;
  Try NewTry(const Candidate& candidate, int cores) const;
  void Tell(const std::string& doing) {
    if (options_.progress) options_.progress(doing, tuned_.runs);
  }

  void BySimulation(const std::vector<Candidate>& found);
  Status ByRuns();
  void TryIdeas(unsigned most_runs);
  void Explore(unsigned most_runs);
  void TryRoomier(unsigned most_runs);
  void Walk(unsigned most_runs);
  bool Step(const TunedKnob& knob, bool up, unsigned most_runs);
  bool Fits(const Spec& spec) const;
  Price PriceOf(const Spec& spec) const;
  bool Propose(const Predictor& predictor, unsigned most_runs);
  void RunOn(Try& tried);
  void ForFewerCores(double rate);
  void Confirm();
  void RepeatIfCold();
  void Compare();
  std::optional<Candidate> OnCores(const Predictor& predictor, int cores, double rate) const;

  const Predictor* const predictor_;  // null: by runs alone
  const TuneOptions& options_;
  Bench* const bench_;
  Tuned tuned_;
  std::optional<Predictor> refined_;  // from the best one's own run
  std::optional<Rerun> last_run_;
  bool stopped_ = false;
  std::optional<Error> broken_;  // the bench: nothing else can be run
};

std::vector<Patch> TuneRun::Ideas() const {
  std::vector<Patch> ideas;
  for (const Patch& idea : options_.ideas) {
    const auto spec = Apply(tuned_.base.spec, idea);
    if (spec.ok() && LearnsTheSame(tuned_.base.spec, spec.value())) ideas.push_back(idea);
  }
  return ideas;
}

// Recommendations that neither the simulation nor, for what is learned, the tuner can try.
std::string TuneRun::Untried() const {
  std::string unpriced;
  std::string learned;
  for (const Patch& idea : options_.ideas) {
    const auto spec = Apply(tuned_.base.spec, idea);
    if (!spec.ok()) continue;
    Point point;
    point.patch = idea;
    const std::string name = NameOf(point);
    if (!LearnsTheSame(tuned_.base.spec, spec.value())) {
      learned += (learned.empty() ? "" : ", ") + name;
    } else if (!Tried(spec.value(), 0) && !PriceOf(spec.value()).rate.has_value()) {
      unpriced += (unpriced.empty() ? "" : ", ") + name;
    }
  }
  std::string text;
  if (!unpriced.empty()) {
    text += predictor_ == nullptr ? "; not tried: " + unpriced
                                  : "; not tried, the simulation cannot price it: " + unpriced;
  }
  if (!learned.empty()) text += "; not tried, it may change what is learned: " + learned;
  return text;
}

std::string TuneRun::Unlimited() const {
  if (options_.limits.memory_bytes == 0) return "";
  const auto unknown = [](const Try& tried) {
    return tried.point.error.empty() && !MemoryOf(tried.point).has_value();
  };
  const auto count =
      static_cast<size_t>(std::count_if(tuned_.tries.begin(), tuned_.tries.end(), unknown) +
                          (unknown(tuned_.base) ? 1 : 0));
  if (count == 0) return "";
  return fmt::format("the limit was not applied to {} of {}, whose memory is not known: {}", count,
                     words::Counted(tuned_.tries.size() + 1, "setting"),
                     bench_ == nullptr ? "runs measure it, leave out --mode simulate"
                                       : "their runs did not record it, watch it when you use one");
}

bool TuneRun::Tried(const Spec& spec, int cores) const {
  const auto same = [&](const Try& tried) {
    return tried.spec == spec && tried.point.cores == cores;
  };
  return same(tuned_.base) || std::any_of(tuned_.tries.begin(), tuned_.tries.end(), same);
}

Try TuneRun::NewTry(const Candidate& candidate, int cores) const {
  Try tried;
  tried.spec = candidate.spec;
  tried.point.patch = Diff(tuned_.base.spec, candidate.spec);
  tried.point.cores = cores;
  tried.point.predicted = candidate.price.rate;
  tried.point.predicted_memory_bytes = candidate.price.memory_bytes;
  return tried;
}

// One run more of a configuration.
void TuneRun::RunOn(Try& tried) {
  Tell(NameOf(tried.point));
  RunWish wish{tried.point.cores, false, {}, options_.limits.stop_requested, {}};
  // Once, for the base run: a pipeline's was probed when it was recorded.
  wish.probe = &tried == &tuned_.base && tried.runs.empty() && IsJob(tried.spec);
  wish.tell = [&](bool waiting) { Tell(waiting ? kWaitingForTurn : NameOf(tried.point)); };
  auto outcome = bench_->Measure(tried.spec, wish);
  if (!outcome.ok()) {
    broken_ = std::move(outcome).error();
    stopped_ = true;
    return;
  }
  ++tuned_.runs;
  if (outcome.value().failed.has_value()) {
    tried.point.error = outcome.value().failed->Line();
    return;
  }
  if (outcome.value().stopped) {
    stopped_ = true;
    return;
  }
  tried.point.runs.push_back(outcome.value().figure);
  tried.point.verdict = outcome.value().verdict;
  tried.runs.push_back(std::move(outcome.value().summary));
  last_run_ = std::move(outcome.value().rerun);
  const uint64_t limit = options_.limits.memory_bytes;
  const uint64_t peak = tried.point.runs.back().memory_bytes;
  if (limit > 0 && peak > limit) {
    tried.point.error = fmt::format("it needs {} bytes of memory; the limit is {}", peak, limit);
  }
}

void TuneRun::BySimulation(const std::vector<Candidate>& found) {
  if (found.empty()) {
    tuned_.ended = "stopped";
    return;
  }
  const Candidate& base = found.back();
  tuned_.base.point.predicted = base.price.rate;
  tuned_.base.point.predicted_memory_bytes = base.price.memory_bytes;
  for (size_t i = 0; i + 1 < found.size(); ++i) {
    if (found[i].price.rate->samples_per_s < base.price.rate->samples_per_s * (1 + kNoise)) break;
    tuned_.tries.push_back(NewTry(found[i], 0));
  }
  if (!tuned_.tries.empty()) tuned_.best = 0;
  tuned_.ended = tuned_.tries.empty() ? "no change is predicted to gain more than 2%"
                                      : "the simulation finds nothing better";
}

// The next proposal that is worth a run; false where there is none.
bool TuneRun::Propose(const Predictor& predictor, unsigned most_runs) {
  const Try& from = Best();
  SearchLimits limits = options_.limits;
  limits.fits = [this](const Spec& spec) { return Fits(spec); };
  const std::vector<Candidate> found =
      Search(predictor, from.spec, tuned_.best ? std::vector<Patch>() : Ideas(), limits);
  if (found.empty() || Stopped()) return false;
  const double now = found.back().price.rate->samples_per_s;
  unsigned failures = 0;
  for (size_t i = 0; i + 1 < found.size(); ++i) {
    if (tuned_.runs >= most_runs || failures >= kMostFailures || stopped_) return false;
    if (Tried(found[i].spec, 0)) continue;
    if (found[i].price.rate->samples_per_s < now * (1 + kNoise)) {
      tuned_.ended = "the next candidate's predicted gain is within the noise";
      return false;
    }
    Try tried = NewTry(found[i], 0);
    RunOn(tried);
    const bool better = tried.point.error.empty() && RateOf(tried) > RateOf(Best());
    const bool too_large = !tried.point.runs.empty() && !tried.point.error.empty();
    if (!tried.point.runs.empty() || !tried.point.error.empty()) {
      tuned_.tries.push_back(std::move(tried));
    }
    if (better) tuned_.best = tuned_.tries.size() - 1;
    if (better) return true;
    // A run without workers does not show how much memory one needs: from here on, Fits knows.
    if (too_large) return Propose(predictor, most_runs);
    ++failures;
  }
  tuned_.ended = "no other candidate is predicted to be faster";
  return false;
}

bool HasSnapshot(const Spec& spec) {
  return std::any_of(spec.stages.begin(), spec.stages.end(), [](const StageSpec& stage) {
    return std::holds_alternative<SnapshotSpec>(stage.kind);
  });
}

// What the simulation cannot price, a run can: a cache behind half of a map, a rewrite. Not a
// snapshot, which the first run with it only writes.
void TuneRun::TryIdeas(unsigned most_runs) {
  unsigned failures = 0;
  for (const Patch& idea : Ideas()) {
    const auto spec = Apply(tuned_.base.spec, idea);
    if (!spec.ok() || HasSnapshot(spec.value()) || Tried(spec.value(), 0)) continue;
    const Price price = PriceOf(spec.value());
    if (price.rate.has_value() || !Fits(spec.value())) continue;
    if (tuned_.runs >= most_runs || failures >= kMostFailures || stopped_ || Stopped()) return;
    Try tried = NewTry({spec.value(), price}, 0);
    RunOn(tried);
    if (tried.point.runs.empty() && tried.point.error.empty()) return;
    const bool better = tried.point.error.empty() && RateOf(tried) > RateOf(Best());
    tuned_.tries.push_back(std::move(tried));
    if (!better) {
      ++failures;
      continue;
    }
    tuned_.best = tuned_.tries.size() - 1;
    if (!last_run_.has_value() || predictor_ == nullptr) continue;
    auto refined = Predictor::Make(last_run_->run, last_run_->attribution);
    if (!refined.ok()) continue;
    refined_ = std::move(refined).value();
    refined_->SetOptions(ShortSimulation());
  }
}

void TuneRun::Explore(unsigned most_runs) {
  tuned_.ended = "run limit reached";
  if (predictor_ == nullptr) return Walk(most_runs);
  const Predictor* predictor = refined_ ? &*refined_ : predictor_;
  while (tuned_.runs < most_runs && !stopped_ && !Stopped()) {
    if (!Propose(*predictor, most_runs)) return;
    if (!last_run_.has_value()) return;
    auto refined = Predictor::Make(last_run_->run, last_run_->attribution);
    if (!refined.ok()) return;
    refined_ = std::move(refined).value();
    refined_->SetOptions(ShortSimulation());
    predictor = &*refined_;
  }
}

// Among configurations that the simulation cannot distinguish, the search takes the smallest. On a
// machine with other work, more workers and deeper queues may hide a few percent more: that is
// worth a run, and if it is faster, it is run again in turn with the best.
void TuneRun::TryRoomier(unsigned most_runs) {
  if (predictor_ == nullptr || !tuned_.best || tuned_.runs >= most_runs || stopped_ || Stopped()) {
    return;
  }
  const Predictor& predictor = refined_ ? *refined_ : *predictor_;
  const Price now = predictor.Predict(Best().spec);
  // A run of a job is long, and here nothing is left to hide.
  if (IsJob(Best().spec) && now.input_stall < kNoise) return;
  Spec more = Roomier(Best().spec, options_.limits.cores);
  const Price price = predictor.Predict(more);
  const Candidate roomier{std::move(more), price};
  const uint64_t limit = options_.limits.memory_bytes;
  if (Tried(roomier.spec, 0) || !now.rate || !roomier.price.rate ||
      roomier.price.rate->samples_per_s < now.rate->samples_per_s / kAsFast ||
      (limit > 0 && roomier.price.memory_bytes.value_or(0) > limit)) {
    return;
  }
  Try tried = NewTry(roomier, 0);
  RunOn(tried);
  if (tried.point.runs.empty() && tried.point.error.empty()) return;
  const auto better = [&] {
    return tried.point.error.empty() && RateOf(tried) > RateOf(Best()) * (1 + kNoise);
  };
  if (better() && tuned_.runs + 2 <= most_runs && !stopped_) {
    RunOn(tuned_.tries[*tuned_.best]);
    if (!stopped_) RunOn(tried);
  }
  const bool adopted = better();
  tuned_.tries.push_back(std::move(tried));
  if (adopted) tuned_.best = tuned_.tries.size() - 1;
}

Price TuneRun::PriceOf(const Spec& spec) const {
  return predictor_ == nullptr ? Price() : predictor_->Predict(spec);
}

int64_t Processes(const Spec& spec) {
  int64_t workers = 0;
  for (const StageSpec& stage : spec.stages) {
    if (const auto* loader = std::get_if<LoaderSpec>(&stage.kind)) workers += loader->num_workers;
  }
  return workers;
}

// Whether a job's further workers have room, by what those of the runs so far needed. A run would
// show it too, on a machine that others use.
bool TuneRun::Fits(const Spec& spec) const {
  const uint64_t limit = options_.limits.memory_bytes;
  if (limit == 0) return true;
  std::vector<const Try*> known{&tuned_.base};
  for (const Try& tried : tuned_.tries) known.push_back(&tried);
  double each = 0;
  const Try* most = nullptr;
  for (const Try* a : known) {
    if (a->point.runs.empty()) continue;
    if (most == nullptr || Processes(a->spec) > Processes(most->spec)) most = a;
    for (const Try* b : known) {
      const auto more = static_cast<double>(Processes(a->spec) - Processes(b->spec));
      if (b->point.runs.empty() || more <= 0) continue;
      each = std::max(each, (static_cast<double>(MemoryOf(a->point).value_or(0)) -
                             static_cast<double>(MemoryOf(b->point).value_or(0))) /
                                more);
    }
  }
  if (most == nullptr) return true;
  const auto more = static_cast<double>(Processes(spec) - Processes(most->spec));
  // What needs less than the recorded run may fit, even if that does not.
  if (most == &tuned_.base && more <= 0) return true;
  return static_cast<double>(MemoryOf(most->point).value_or(0)) + each * more <=
         static_cast<double>(limit);
}

// A step of the walk, if it is worth a run; whether it was better.
bool TuneRun::Step(const TunedKnob& knob, bool up, unsigned most_runs) {
  if (tuned_.runs >= most_runs || stopped_ || Stopped()) return false;
  const auto now = GetKnob(Best().spec, knob.path);
  const auto next = now.ok() ? NextValue(knob, now.value(), up) : std::nullopt;
  Spec spec = Best().spec;
  if (!next || !SetKnob(spec, knob.path, *next).ok() || Tried(spec, 0)) return false;
  if (!Fits(spec)) {
    tuned_.ended = "further workers do not fit into the memory limit";
    return false;
  }
  Try tried = NewTry({spec, {}}, 0);
  RunOn(tried);
  if (tried.point.runs.empty() && tried.point.error.empty()) return false;
  const bool better = tried.point.error.empty() && RateOf(tried) > RateOf(Best()) * (1 + kNoise);
  tuned_.tries.push_back(std::move(tried));
  if (better) tuned_.best = tuned_.tries.size() - 1;
  return better;
}

// One knob after the other, as long as any of them helps.
void TuneRun::Walk(unsigned most_runs) {
  for (bool moved = true; moved;) {
    moved = false;
    for (const TunedKnob& knob :
         TunedKnobs(Best().spec, options_.limits.cores, options_.limits.threads_of_job)) {
      const bool up = Step(knob, true, most_runs);
      while (up && Step(knob, true, most_runs)) {
      }
      // A deeper queue is no slower than a shallow one.
      const bool may_fall = knob.path.ends_with(".num_workers") || knob.path.ends_with(".threads");
      const bool down = !up && may_fall && Step(knob, false, most_runs);
      while (down && Step(knob, false, most_runs)) {
      }
      moved = moved || up || down;
    }
  }
  if (tuned_.runs < most_runs && !stopped_ && tuned_.ended == "run limit reached") {
    tuned_.ended = "no single further change is faster";
  }
}

std::optional<Candidate> TuneRun::OnCores(const Predictor& predictor, int cores,
                                          double rate) const {
  SearchLimits limits = options_.limits;
  limits.cores = cores;
  limits.fewer_cores = true;
  const auto found = Search(predictor, Best().spec, {}, limits);
  if (found.empty() || found.front().price.rate->samples_per_s < rate * kAsBusy) {
    return std::nullopt;
  }
  return found.front();
}

// The fewest cores that lose nothing against `rate`.
void TuneRun::ForFewerCores(double rate) {
  if (predictor_ == nullptr) return;
  const Predictor& predictor = refined_ ? *refined_ : *predictor_;
  for (int cores = 1; cores < options_.limits.cores && !stopped_ && !Stopped(); ++cores) {
    const auto candidate = OnCores(predictor, cores, rate);
    if (!candidate.has_value() || Tried(candidate->spec, cores)) continue;
    if (bench_ != nullptr && tuned_.runs >= options_.max_runs) return;
    Try tried = NewTry(*candidate, cores);
    if (bench_ != nullptr) {
      RunOn(tried);
      if (tried.point.runs.empty() && tried.point.error.empty()) return;
    }
    const bool held = tried.point.error.empty() &&
                      (bench_ == nullptr || RateOf(tried) >= RateOf(Best()) * kAsBusy);
    tuned_.tries.push_back(std::move(tried));
    if (!held) continue;
    tuned_.best = tuned_.tries.size() - 1;
    tuned_.ended = "fewer cores do not keep the device as busy";
    return;
  }
}

void TuneRun::Compare() {
  if (!tuned_.best || Best().runs.empty() || tuned_.base.runs.empty()) return;
  tuned_.comparison = compare::Compare(tuned_.base.runs, Best().runs);
}

bool RanAsPredicted(const Try& tried) {
  const auto& predicted = tried.point.predicted;
  return predicted && RateOf(tried) >= predicted->low && RateOf(tried) <= predicted->high;
}

// Runs of base and best in turn until the answer is clear or the runs are spent. One of each is
// enough where both were as predicted: then neither was disturbed.
void TuneRun::Confirm() {
  Compare();
  const size_t enough = RanAsPredicted(tuned_.base) && RanAsPredicted(Best()) ? 1 : 2;
  while (tuned_.best && tuned_.runs + 2 <= options_.max_runs && !stopped_ && !Stopped()) {
    Try& best = tuned_.tries[*tuned_.best];
    if (best.runs.size() >= kMostRunsOfOne) return;
    const bool clear = tuned_.comparison.has_value() &&
                       tuned_.comparison->answer != compare::Answer::kInconclusive;
    if (clear && best.runs.size() >= enough && tuned_.base.runs.size() >= enough) return;
    RunOn(tuned_.base);
    if (!stopped_) RunOn(best);
    Compare();
  }
}

// The very first run may have read from the disk what all later ones have in the page cache:
// everything would seem to gain against it.
void TuneRun::RepeatIfCold() {
  Point& point = tuned_.base.point;
  if (point.runs.empty() || point.runs.front().from_disk <= kColdShare || stopped_ || Stopped())
    return;
  if (tuned_.runs >= options_.max_runs) return;
  RunOn(tuned_.base);
  const bool warmer =
      point.runs.size() > 1 && point.runs[1].from_disk < point.runs[0].from_disk - kColdShare;
  if (!warmer) return;
  point.runs.erase(point.runs.begin());
  tuned_.base.runs.erase(tuned_.base.runs.begin());
}

Status TuneRun::ByRuns() {
  RunOn(tuned_.base);
  if (!tuned_.base.point.error.empty() && tuned_.base.runs.empty()) {
    return Error{ErrorKind::kRun, tuned_.base.point.error, "", ""};
  }
  RepeatIfCold();
  // Too much memory is no reason not to look for something that needs less.
  tuned_.base.point.error.clear();
  const bool confirm = options_.max_runs >= kFewestRunsToConfirm;
  // Half of the runs at most: the search must have its own.
  TryIdeas(1 + options_.max_runs / 2);
  Explore(confirm ? options_.max_runs - kRunsToConfirm : options_.max_runs);
  if (options_.goal == TuneGoal::kCost) {
    ForFewerCores(RateOf(Best()));
  } else if (confirm) {
    TryRoomier(options_.max_runs - 2);
  }
  Confirm();
  if (broken_.has_value()) return *std::move(broken_);
  const bool no_gain = options_.goal == TuneGoal::kThroughput && tuned_.best &&
                       RateOf(Best()) <= RateOf(tuned_.base);
  if (no_gain) tuned_.best.reset();
  if (stopped_ || Stopped()) tuned_.ended = "stopped";
  return {};
}

Result<Tuned> TuneRun::Tune() {
  const Price price = PriceOf(tuned_.base.spec);
  if (!price.rate.has_value() && predictor_ != nullptr) {
    return Error{ErrorKind::kInput, "cannot predict the run: " + price.unpriced, "",
                 "record it again"};
  }
  tuned_.base.point.predicted = price.rate;
  tuned_.base.point.predicted_memory_bytes = price.memory_bytes;
  if (predictor_ != nullptr) Tell("simulating");
  if (bench_ != nullptr) {
    STALLSCOPE_RETURN_IF_ERROR(ByRuns());
  } else {
    BySimulation(Search(*predictor_, tuned_.base.spec, Ideas(), options_.limits));
    if (options_.goal == TuneGoal::kCost) {
      ForFewerCores(Best().point.predicted->samples_per_s);
    }
  }
  tuned_.ended += Untried();
  tuned_.unlimited = Unlimited();
  const Predictor* const last = refined_ ? &*refined_ : predictor_;
  if (last != nullptr) tuned_.bound = last->Predict(Best().spec, Best().point.cores).bottleneck;
  return std::move(tuned_);
}

}  // namespace

Result<Tuned> Tune(const Predictor* predictor, const Spec& base, Bench* bench,
                   const TuneOptions& options) {
  return TuneRun(predictor, base, bench, options).Tune();
}

Spec ResultOf(const Tuned& tuned) {
  const Try& best = tuned.best ? tuned.tries[*tuned.best] : tuned.base;
  Spec spec = best.spec;
  if (best.point.cores > 0) spec.budget.cores = best.point.cores;
  return spec;
}

}  // namespace stallscope::replay
