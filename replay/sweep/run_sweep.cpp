#include "replay/sweep/run_sweep.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "analyzer/base/clock.h"
#include "analyzer/base/units.h"
#include "replay/rerun/fill.h"
#include "replay/sweep/same_data.h"

namespace stallscope::replay {
namespace {

constexpr useconds_t kWaitUs = 500'000;
constexpr int64_t kRefreshEveryNs = 5 * kNsPerSecond;
// Of predictions between two writes of the file, at least.
constexpr size_t kChunk = 64;
constexpr double kProbeSeconds = 3;
// With fewer a run is mostly warm-up.
constexpr int64_t kFewestProbeSteps = 16;

struct Task {
  enum class Kind : uint8_t { kNone, kPredict, kProbe, kRun };
  Kind kind = Kind::kNone;
  std::string lease;
  std::vector<size_t> indices;  // of configurations; one of a probe or a run
  std::vector<Point> points;    // as they were
  bool others_work = false;     // kNone: other processes hold the rest
};

size_t ChunkSize(size_t configurations) { return std::max(kChunk, configurations / 64); }

std::string ChunkLease(size_t chunk) { return "predict-" + std::to_string(chunk); }
std::string PointLease(size_t index) { return "point-" + std::to_string(index); }

class SweepWorker {
 public:
  SweepWorker(SweepFile& file, const SweepWork& work) : file_(file), work_(work) {}

  Result<Sweep> Work();

 private:
  bool Stopped() const { return work_.stop_requested && work_.stop_requested(); }
  Result<Task> Next();
  Result<Task> PickPredictions(const Sweep& sweep, Leases& leases);
  Result<Task> PickOne(const Sweep& sweep, Leases& leases, Task::Kind kind,
                       bool (*needed)(const Sweep&, const Point&));
  Result<Task> Pick(const Sweep& sweep, Leases& leases);
  Status Do(Task task);
  Status Predict(Task task);
  Status Probe(Point& point);
  Status Run(Point& point);
  Result<Outcome> MeasureQuietly(const Spec& spec, const RunWish& wish);
  Result<Outcome> MeasureFilled(const Spec& spec, const RunWish& wish, Point& point);
  Spec ProbeSpec(Spec spec) const;
  Result<Outcome> MeasureProbe(const Spec& spec, const Point& point);
  RunWish Wish(const Point& point, bool digest, SweepPhase phase);
  void Tell(SweepPhase phase, const std::string& now);
  Status Store(Task task, bool keep_lease);

  SweepFile& file_;
  const SweepWork& work_;
  Sweep last_;  // as the file was at the last look
  bool stopped_in_run_ = false;
  int64_t refreshed_ns_ = 0;
};

Result<Task> SweepWorker::PickPredictions(const Sweep& sweep, Leases& leases) {
  const size_t all = Configurations(sweep);
  const size_t size = ChunkSize(all);
  Task task;
  for (size_t chunk = 0; chunk * size < all; ++chunk) {
    std::vector<size_t> open;
    for (size_t i = chunk * size; i < std::min(all, (chunk + 1) * size); ++i) {
      if (NeedsPrediction(sweep, ConfigurationAt(sweep, i))) open.push_back(i);
    }
    if (open.empty()) continue;
    const std::string lease = ChunkLease(chunk);
    STALLSCOPE_ASSIGN_OR_RETURN(const bool taken, leases.Take(lease));
    if (!taken) {
      task.others_work = true;
      continue;
    }
    task.kind = Task::Kind::kPredict;
    task.lease = lease;
    task.indices = std::move(open);
    return task;
  }
  return task;
}

// The configuration with the fewest runs, so that repeats are interleaved.
Result<Task> SweepWorker::PickOne(const Sweep& sweep, Leases& leases, Task::Kind kind,
                                  bool (*needed)(const Sweep&, const Point&)) {
  std::vector<size_t> open;
  for (size_t i = 0; i < Configurations(sweep); ++i) {
    if (needed(sweep, ConfigurationAt(sweep, i))) open.push_back(i);
  }
  std::stable_sort(open.begin(), open.end(), [&](size_t a, size_t b) {
    return ConfigurationAt(sweep, a).runs.size() < ConfigurationAt(sweep, b).runs.size();
  });
  Task task;
  for (const size_t index : open) {
    const std::string lease = PointLease(index);
    STALLSCOPE_ASSIGN_OR_RETURN(const bool taken, leases.Take(lease));
    if (!taken) {
      task.others_work = true;
      continue;
    }
    task.kind = kind;
    task.lease = lease;
    task.indices = {index};
    return task;
  }
  return task;
}

// A run alongside a simulation would appear slower than it is, so one kind of work ends before the
// next begins.
Result<Task> SweepWorker::Pick(const Sweep& sweep, Leases& leases) {
  STALLSCOPE_ASSIGN_OR_RETURN(Task task, PickPredictions(sweep, leases));
  if (task.kind == Task::Kind::kNone && !task.others_work && work_.bench != nullptr) {
    STALLSCOPE_ASSIGN_OR_RETURN(task, PickOne(sweep, leases, Task::Kind::kProbe, &NeedsProbe));
  }
  if (task.kind == Task::Kind::kNone && !task.others_work && work_.bench != nullptr) {
    STALLSCOPE_ASSIGN_OR_RETURN(task, PickOne(sweep, leases, Task::Kind::kRun, &NeedsRun));
  }
  for (const size_t index : task.indices) task.points.push_back(ConfigurationAt(sweep, index));
  return task;
}

Result<Task> SweepWorker::Next() {
  Result<Task> task = Task{};
  STALLSCOPE_ASSIGN_OR_RETURN(last_, file_.Update([&](Sweep& sweep, Leases& leases) {
    task = Pick(sweep, leases);
    return false;
  }));
  return task;
}

void SweepWorker::Tell(SweepPhase phase, const std::string& now) {
  if (!work_.progress) return;
  SweepProgress progress{phase, 0, 0, now};
  for (size_t i = 0; i < Configurations(last_); ++i) {
    const Point& point = ConfigurationAt(last_, i);
    size_t done = 0;
    size_t open = 0;
    if (phase == SweepPhase::kPredictions) {
      open = NeedsPrediction(last_, point) ? 1 : 0;
      done = 1 - open;
    } else if (phase == SweepPhase::kProbeRuns) {
      open = NeedsProbe(last_, point) ? 1 : 0;
      done = point.probed ? 1 : 0;
    } else {
      done = std::min<size_t>(point.runs.size(), last_.repeats);
      open = point.error.empty() ? last_.repeats - done : 0;
    }
    progress.done += done;
    progress.total += done + open;
  }
  work_.progress(progress);
}

// Brings what was learnt into the file, which others may have changed meanwhile: only these
// configurations.
Status SweepWorker::Store(Task task, bool keep_lease) {
  STALLSCOPE_ASSIGN_OR_RETURN(last_, file_.Update([&](Sweep& sweep, Leases& leases) {
    for (size_t i = 0; i < task.indices.size(); ++i) {
      ConfigurationAt(sweep, task.indices[i]) = std::move(task.points[i]);
    }
    if (task.kind == Task::Kind::kRun) CheckDigests(work_.spec, sweep);
    const bool more = keep_lease && NeedsRun(sweep, ConfigurationAt(sweep, task.indices.front()));
    if (!more) leases.Drop(task.lease);
    return true;
  }));
  return {};
}

Status SweepWorker::Predict(Task task) {
  PredictPoints(work_.predicted_spec, *work_.predictor, work_.threads, work_.stop_requested,
                task.points);
  STALLSCOPE_RETURN_IF_ERROR(Store(std::move(task), false));
  Tell(SweepPhase::kPredictions, "");
  return {};
}

RunWish SweepWorker::Wish(const Point& point, bool digest, SweepPhase phase) {
  RunWish wish{point.cores, digest, {}, {}, {}};
  wish.tell = [this, phase, name = NameOf(point)](bool waiting) {
    Tell(phase, waiting ? kWaitingForTurn : name);
  };
  wish.stop_requested = [this] {
    const int64_t now = MonotonicNs();
    if (now - refreshed_ns_ > kRefreshEveryNs) {
      file_.Refresh();
      refreshed_ns_ = now;
    }
    return Stopped();
  };
  return wish;
}

Spec SweepWorker::ProbeSpec(Spec spec) const {
  const Recorded& recorded = *work_.predictor->workload().recorded;
  const double batch = std::max(recorded.trainer.batch, 1.0);
  const auto steps = static_cast<int64_t>(kProbeSeconds * recorded.samples_per_s / batch);
  const int64_t enough = std::max(steps, kFewestProbeSteps);
  int64_t& asked = IsJob(spec) ? spec.job.steps : spec.trainer.steps;
  asked = asked == 0 ? enough : std::min<int64_t>(asked, enough);
  return spec;
}

// Fills a store with a part of the data only, so that the probe also reads it.
Result<Outcome> SweepWorker::MeasureProbe(const Spec& spec, const Point& point) {
  const RunWish wish = Wish(point, false, SweepPhase::kProbeRuns);
  if (work_.predictor->UnknownStores(spec).empty()) {
    return work_.bench->Measure(ProbeSpec(spec), wish);
  }
  const Recorded& recorded = *work_.predictor->workload().recorded;
  const double elements = kProbeSeconds / 2 * recorded.samples_per_s;
  auto part = WithPartOfTheData(spec, static_cast<int64_t>(elements), recorded.elements_per_file);
  if (part.ok()) return work_.bench->Measure(part.value(), wish);
  Outcome outcome;
  outcome.failed = std::move(part).error();
  return outcome;
}

Status SweepWorker::Probe(Point& point) {
  const auto spec = SpecOf(work_.predicted_spec, point);
  if (!spec.ok()) return {};
  // Another probe may tell this one too.
  Price price = work_.predictor->Predict(spec.value(), point.cores);
  if (!price.rate.has_value()) {
    STALLSCOPE_ASSIGN_OR_RETURN(const Outcome outcome, MeasureProbe(spec.value(), point));
    if (outcome.stopped) {
      stopped_in_run_ = true;
      return {};
    }
    if (!outcome.failed.has_value()) {
      const Rerun& rerun = outcome.rerun;
      const bool stores = !work_.predictor->UnknownStores(spec.value()).empty();
      const Status added = stores ? work_.predictor->AddStores(rerun.run, rerun.attribution)
                                  : work_.predictor->AddProbe(rerun.run, rerun.attribution);
      if (added.ok()) price = work_.predictor->Predict(spec.value(), point.cores);
    }
  }
  point.probed = true;
  point.predicted = price.rate;
  point.predicted_memory_bytes = price.memory_bytes;
  point.unpriced = price.unpriced;
  return {};
}

// Once more, if other programs had more of the cores than in the quietest run so far: the quieter
// one counts. Other work that never ends affects all runs alike. The same if it read from disk what
// the warmest run so far, or this one made again, has from the page cache: the first run of a sweep
// is often the base, and everything would seem to gain against it. Not after a run that fills a
// store, which the same run made again would read.
Result<Outcome> SweepWorker::MeasureQuietly(const Spec& spec, const RunWish& wish) {
  STALLSCOPE_ASSIGN_OR_RETURN(Outcome outcome, work_.bench->Measure(spec, wish));
  double least = outcome.figure.others;
  double warmest = 0;
  bool any = false;
  for (size_t i = 0; i < Configurations(last_); ++i) {
    for (const RunFigure& run : ConfigurationAt(last_, i).runs) {
      least = std::min(least, run.others);
      warmest = any ? std::min(warmest, run.from_disk) : run.from_disk;
      any = true;
    }
  }
  const bool measured = !outcome.failed.has_value() && !outcome.stopped;
  const bool disturbed = outcome.figure.others > least + kOthersDisturb;
  const bool cold = outcome.figure.from_disk > warmest + kColdShare;
  if (!measured || (!disturbed && !cold) || !FillingOf(spec, outcome.rerun).store.empty()) {
    return outcome;
  }
  STALLSCOPE_ASSIGN_OR_RETURN(Outcome again, work_.bench->Measure(spec, wish));
  const bool quieter = !again.failed.has_value() && again.figure.others < outcome.figure.others;
  const bool warmer =
      !again.failed.has_value() && again.figure.from_disk < outcome.figure.from_disk - kColdShare;
  if (again.stopped || (cold ? warmer : quieter)) return again;
  return outcome;
}

// A run that fills a store in a file does not show the gain of reading it: the next run counts. A
// run that ended before its first pass over the data has not filled it; then a whole pass does.
Result<Outcome> SweepWorker::MeasureFilled(const Spec& spec, const RunWish& wish, Point& point) {
  STALLSCOPE_ASSIGN_OR_RETURN(Outcome outcome, MeasureQuietly(spec, wish));
  const auto fills = [&](const Outcome& made) {
    return !made.failed.has_value() && !made.stopped && !FillingOf(spec, made.rerun).store.empty();
  };
  const auto keep = [&](const Outcome& made) {
    const Filling filling = FillingOf(spec, made.rerun);
    point.filled = made.figure;
    point.filled->stored_samples = filling.samples;
    point.filled->stored_s = filling.seconds;
  };
  if (!fills(outcome)) return outcome;
  keep(outcome);
  STALLSCOPE_ASSIGN_OR_RETURN(outcome, MeasureQuietly(spec, wish));
  if (!fills(outcome)) return outcome;
  if (const auto fill = FillSpec(spec); fill.has_value()) {
    RunWish plain = wish;
    plain.digest = false;
    STALLSCOPE_ASSIGN_OR_RETURN(outcome, work_.bench->Measure(*fill, plain));
    if (outcome.failed.has_value() || outcome.stopped) return outcome;
    keep(outcome);
    STALLSCOPE_ASSIGN_OR_RETURN(outcome, MeasureQuietly(spec, wish));
    if (!fills(outcome)) return outcome;
  }
  outcome.failed =
      Error{ErrorKind::kRun, "no run fills '" + FillingOf(spec, outcome.rerun).store + "'", "",
            "place it before the stage that repeats the data"};
  return outcome;
}

Status SweepWorker::Run(Point& point) {
  const auto spec = SpecOf(work_.spec, point);
  if (!spec.ok()) {
    point.error = spec.error().Line();
    return {};
  }
  const bool digest = point.digest.empty();
  STALLSCOPE_ASSIGN_OR_RETURN(
      Outcome outcome, MeasureFilled(spec.value(), Wish(point, digest, SweepPhase::kRuns), point));
  if (outcome.failed.has_value()) {
    point.error = outcome.failed->Line();
    return {};
  }
  if (outcome.stopped) {
    stopped_in_run_ = true;
    return {};
  }
  point.runs.push_back(outcome.figure);
  point.verdict = outcome.verdict;
  if (digest) point.digest = outcome.digest;
  return {};
}

Status SweepWorker::Do(Task task) {
  if (task.kind == Task::Kind::kPredict) return Predict(std::move(task));
  Point& point = task.points.front();
  const bool probe = task.kind == Task::Kind::kProbe;
  const SweepPhase phase = probe ? SweepPhase::kProbeRuns : SweepPhase::kRuns;
  Tell(phase, NameOf(point));
  STALLSCOPE_RETURN_IF_ERROR(probe ? Probe(point) : Run(point));
  if (stopped_in_run_) return {};
  STALLSCOPE_RETURN_IF_ERROR(Store(std::move(task), !probe));
  Tell(phase, "");
  return {};
}

Result<Sweep> SweepWorker::Work() {
  while (!Stopped() && !stopped_in_run_) {
    STALLSCOPE_ASSIGN_OR_RETURN(Task task, Next());
    if (task.kind != Task::Kind::kNone) {
      STALLSCOPE_RETURN_IF_ERROR(Do(std::move(task)));
      continue;
    }
    if (!task.others_work) break;
    // What others work on is taken up where they die, so everybody stays to the end.
    file_.Refresh();
    usleep(kWaitUs);
  }
  return file_.Update([](Sweep&, Leases&) { return false; });
}

}  // namespace

std::string_view WordFor(SweepPhase phase) {
  constexpr std::array<std::string_view, 3> kWords = {"predictions", "probe runs", "runs"};
  return kWords[static_cast<size_t>(phase)];
}

Result<Sweep> RunSweep(const Sweep& planned, const SweepWork& work) {
  STALLSCOPE_ASSIGN_OR_RETURN(SweepFile file, SweepFile::Open(work.file, planned));
  return SweepWorker(file, work).Work();
}

}  // namespace stallscope::replay
