#include "replay/sweep/moves.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "analyzer/spec/knobs.h"
#include "analyzer/spec/ladder.h"
#include "analyzer/spec/ops.h"
#include "analyzer/spec/validate.h"
#include "replay/sweep/same_data.h"

namespace stallscope::replay {
namespace {

constexpr int64_t kMostBuffer = 32;
constexpr int64_t kFewestWorkers = 8;
constexpr int64_t kWorkersPerCore = 4;
constexpr int64_t kMostAhead = 8;
constexpr const char* kFirstLoader = "loader";
// In doublings of a buffer.
constexpr double kWorkerCost = 2;
constexpr double kSwitchCost = 0.5;
constexpr double kStageCost = 1;

std::vector<std::string> Texts(const std::vector<int64_t>& values) {
  std::vector<std::string> texts;
  for (const int64_t value : values) texts.push_back(std::to_string(value));
  return texts;
}

// For what is tried by runs.
std::vector<std::string> Doublings(int64_t from, int64_t to) {
  std::vector<std::string> values;
  for (int64_t value = from; value <= to; value = std::max<int64_t>(2 * value, 1)) {
    values.push_back(std::to_string(value));
  }
  return values;
}

class Collector {
 public:
  Collector(int cores, bool threads_of_job)
      : cores_(cores),
        threads_of_job_(threads_of_job),
        workers_(Texts(Ladder(1, std::max(kFewestWorkers, kWorkersPerCore * cores)))) {}

  void Add(const StageSpec& stage) {
    if (const auto* source = std::get_if<SourceSpec>(&stage.kind)) return AddSource(stage, *source);
    if (const auto* loader = std::get_if<LoaderSpec>(&stage.kind)) return AddLoader(stage, *loader);
    if (const auto* map = std::get_if<MapSpec>(&stage.kind)) {
      if (map->on == MapOn::kDevice) return;
      Workers(stage.name, map->parallelism);
      Knob(stage.name + ".deterministic", {"true", "false"});
    }
    if (const auto* batch = std::get_if<BatchSpec>(&stage.kind)) {
      Workers(stage.name, batch->parallelism);
    }
    if (const auto* prefetch = std::get_if<PrefetchSpec>(&stage.kind)) {
      if (!prefetch->buffer_size.automatic) {
        Knob(stage.name + ".buffer_size", Texts(Ladder(1, kMostBuffer)));
      }
    }
  }

  void AddTrainer(const Spec& spec) {
    if (IsJob(spec)) {
      if (threads_of_job_) Knob("job.threads", Doublings(1, cores_));
      return;
    }
    if (spec.trainer.device == TrainerDevice::kHost) return;
    Knob("transfer.pinned", {"false", "true"});
    Knob("transfer.overlap", {"false", "true"});
    Knob("transfer.prefetch_to_device", {"0", "1", "2"});
    Knob("trainer.graph", {"eager", "captured"});
  }

  std::vector<TunedKnob> Take() { return std::move(knobs_); }

 private:
  void AddSource(const StageSpec& stage, const SourceSpec& source) {
    if (source.format == SourceFormat::kSerial) return;
    Workers(stage.name, source.parallelism);
    if (!source.files.empty() && !source.cycle_length.automatic) {
      Knob(stage.name + ".cycle_length", Texts(Ladder(1, kFewestWorkers)));
    }
  }

  // Of the loader that feeds the steps. How its workers start, and pinned memory, are not for speed
  // alone to decide.
  void AddLoader(const StageSpec& stage, const LoaderSpec& loader) {
    if (stage.name != kFirstLoader) return;
    const std::vector<int64_t> workers = WorkersToTry(cores_);
    const int64_t most = workers.back();
    if (!loader.iterable) Knob(stage.name + ".num_workers", Texts(workers));
    Knob(stage.name + ".num_parallel_calls", Doublings(1, most));
    Knob(stage.name + ".prefetch", Doublings(1, kMostAhead));
    Knob(stage.name + ".threads", Doublings(1, most));
    const int64_t fewest = std::max<int64_t>(1, loader.num_workers);
    Knob(stage.name + ".num_shards", Doublings(fewest, std::max(fewest, most)));
    if (loader.num_workers == 0) return;
    Knob(stage.name + ".prefetch_factor", Doublings(2, kMostAhead));
    Knob(stage.name + ".persistent_workers", {"false", "true"});
  }

  void Workers(const std::string& stage, const stallscope::Knob& parallelism) {
    if (!parallelism.automatic) Knob(stage + ".parallelism", workers_);
  }

  void Knob(std::string path, std::vector<std::string> values) {
    knobs_.push_back({std::move(path), std::move(values)});
  }

  const int cores_;
  const bool threads_of_job_;
  const std::vector<std::string> workers_;
  std::vector<TunedKnob> knobs_;
};

std::optional<Patch> InsertedPrefetch(const Spec& spec) {
  if (IsJob(spec)) return std::nullopt;
  const StageSpec& last = spec.stages.back();
  const bool on_device = std::any_of(spec.stages.begin(), spec.stages.end(), [](const auto& stage) {
    const auto* map = std::get_if<MapSpec>(&stage.kind);
    return map != nullptr && map->on == MapOn::kDevice;
  });
  if (on_device || std::holds_alternative<PrefetchSpec>(last.kind)) return std::nullopt;
  return Patch{{InsertChange{{FreshName(spec, "prefetch"), PrefetchSpec{{2, false}}},
                             Place::After(last.name)}}};
}

std::optional<double> NumberIn(const std::string& text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return value;
}

bool OnHost(const StageSpec& stage) {
  const auto* map = std::get_if<MapSpec>(&stage.kind);
  return map != nullptr && map->on == MapOn::kHost;
}

// Without the stores that give back what they were given: all but those that freeze an order or a
// random draw, which has its own result in every epoch without them.
void DropStores(std::vector<StageSpec>& stages) {
  bool freezes = false;
  std::erase_if(stages, [&](const StageSpec& stage) {
    const auto* map = std::get_if<MapSpec>(&stage.kind);
    freezes = freezes || std::holds_alternative<ShuffleSpec>(stage.kind) ||
              (map != nullptr && IsRandom(*map));
    const bool store = std::holds_alternative<CacheSpec>(stage.kind) ||
                       std::holds_alternative<SnapshotSpec>(stage.kind);
    return store && !freezes;
  });
}

// A map treats each element alike: whether it stands before a shuffle or a repeat or behind it, and
// in how many pieces, changes neither the samples nor how they are drawn.
void GatherMaps(std::vector<StageSpec>& stages) {
  const auto moves = [](const StageSpec& stage) {
    return std::holds_alternative<ShuffleSpec>(stage.kind) ||
           std::holds_alternative<RepeatSpec>(stage.kind);
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t i = 0; i + 1 < stages.size(); ++i) {
      if (!moves(stages[i]) || !OnHost(stages[i + 1])) continue;
      std::swap(stages[i], stages[i + 1]);
      moved = true;
    }
  }
  for (size_t i = 0; i + 1 < stages.size();) {
    const bool joins =
        OnHost(stages[i]) && OnHost(stages[i + 1]) &&
        std::get<MapSpec>(stages[i].kind).input == std::get<MapSpec>(stages[i + 1].kind).input;
    if (!joins) {
      ++i;
      continue;
    }
    auto& ops = std::get<MapSpec>(stages[i].kind).ops;
    const auto& more = std::get<MapSpec>(stages[i + 1].kind).ops;
    ops.insert(ops.end(), more.begin(), more.end());
    stages.erase(stages.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
}

}  // namespace

std::vector<TunedKnob> TunedKnobs(const Spec& spec, int cores, bool threads_of_job) {
  Collector collector(cores, threads_of_job);
  for (const StageSpec& stage : spec.stages) collector.Add(stage);
  collector.AddTrainer(spec);
  auto knobs = collector.Take();
  // Not every loader has all of them.
  std::erase_if(knobs, [&](const TunedKnob& knob) { return !GetKnob(spec, knob.path).ok(); });
  return knobs;
}

std::optional<std::string> NextValue(const TunedKnob& knob, const std::string& now, bool up) {
  const auto& values = knob.values;
  auto at = std::find(values.begin(), values.end(), now);
  if (at != values.end()) {
    if (up) return at + 1 == values.end() ? std::nullopt : std::optional(at[1]);
    return at == values.begin() ? std::nullopt : std::optional(at[-1]);
  }
  const auto number = NumberIn(now);
  if (!number.has_value()) return std::nullopt;
  std::optional<std::string> before;
  for (const std::string& value : values) {
    const double other = NumberIn(value).value_or(*number);
    if (other > *number && up) return value;
    if (other < *number) before = value;
  }
  return up ? std::nullopt : before;
}

std::vector<Patch> MovesFrom(const Spec& spec, int cores, bool threads_of_job) {
  std::vector<Patch> moves;
  for (const TunedKnob& knob : TunedKnobs(spec, cores, threads_of_job)) {
    const auto now = GetKnob(spec, knob.path);
    for (const std::string& value : knob.values) {
      if (now.ok() && now.value() == value) continue;
      Spec changed = spec;
      if (!SetKnob(changed, knob.path, value).ok() || !Validate(changed).ok()) continue;
      moves.push_back(Diff(spec, changed));
    }
  }
  if (auto prefetch = InsertedPrefetch(spec)) moves.push_back(std::move(*prefetch));
  return moves;
}

Spec Generous(Spec spec, int cores, bool threads_of_job) {
  if (const auto prefetch = InsertedPrefetch(spec)) {
    if (auto with = Apply(spec, *prefetch); with.ok()) spec = std::move(with).value();
  }
  for (const TunedKnob& knob : TunedKnobs(spec, cores, threads_of_job)) {
    Spec changed = spec;
    if (SetKnob(changed, knob.path, knob.values.back()).ok() && Validate(changed).ok()) {
      spec = std::move(changed);
    }
  }
  return spec;
}

Spec Roomier(Spec spec, int cores) {
  for (const TunedKnob& knob : TunedKnobs(spec, cores)) {
    if (!knob.path.ends_with(".parallelism") && !knob.path.ends_with(".buffer_size")) continue;
    for (int rung = 0; rung < 2; ++rung) {
      const auto now = GetKnob(spec, knob.path);
      const auto next = now.ok() ? NextValue(knob, now.value(), true) : std::nullopt;
      Spec changed = spec;
      if (!next || !SetKnob(changed, knob.path, *next).ok() || !Validate(changed).ok()) break;
      spec = std::move(changed);
    }
  }
  return spec;
}

namespace {

const LoaderSpec* LoaderIn(const Spec& spec, const std::string& name) {
  for (const StageSpec& stage : spec.stages) {
    if (stage.name == name) return std::get_if<LoaderSpec>(&stage.kind);
  }
  return nullptr;
}

// Each worker iterates over an iterable data set; whether it takes only its share, no setting says.
bool SameShards(const LoaderSpec& a, const LoaderSpec& b) {
  const auto iterators = [](const LoaderSpec& loader) {
    return std::max<int64_t>(loader.num_workers, 1);
  };
  return !a.iterable || iterators(a) == iterators(b);
}

// A library that divides its data among its workers groups it into other batches then.
bool GroupsByWorker(const LoaderSpec& loader) {
  const auto& knobs = loader.knobs;
  return !knobs.empty() && std::find(knobs.begin(), knobs.end(), "prefetch_factor") == knobs.end();
}

const char* EffectOn(const LoaderSpec& before, const LoaderSpec& after) {
  if (before.batch_size != after.batch_size) return "another batch size changes what is trained";
  if (!SameShards(before, after)) {
    return "an iterable data set repeats its samples unless it shards by worker";
  }
  if (before.in_order != after.in_order) return "batches come in another order";
  const bool workers = before.num_workers != after.num_workers;
  if (before.num_shards != after.num_shards || (workers && GroupsByWorker(before))) {
    return "batches contain other elements of the stream";
  }
  return workers
             ? "random augmentation, if there is any, is different: each worker has its own seed"
             : "";
}

// Calls `differ` with each pair of loaders that are not the same.
template <class Differ>
void CompareLoaders(const Spec& a, const Spec& b, const Differ& differ) {
  for (const StageSpec& stage : a.stages) {
    const auto* before = std::get_if<LoaderSpec>(&stage.kind);
    const LoaderSpec* const after = LoaderIn(b, stage.name);
    if (before != nullptr && after != nullptr && *before != *after) differ(*before, *after);
  }
}

}  // namespace

std::string SideEffect(const Spec& from, const Spec& to) {
  if (!IsJob(from)) return LearnsTheSame(from, to) ? "" : "may change what is learned";
  std::string text;
  CompareLoaders(from, to, [&](const LoaderSpec& before, const LoaderSpec& after) {
    if (text.empty()) text = EffectOn(before, after);
  });
  return text;
}

bool LearnsTheSame(const Spec& a, const Spec& b) {
  if (IsJob(a)) {
    bool same = true;
    CompareLoaders(a, b, [&](const LoaderSpec& before, const LoaderSpec& after) {
      same = same && before.batch_size == after.batch_size && SameShards(before, after);
    });
    return same;
  }
  const auto plain = [](Spec spec) {
    for (StageSpec& stage : spec.stages) {
      if (auto* source = std::get_if<SourceSpec>(&stage.kind)) {
        source->deterministic = true;
        source->cycle_length = {};
        source->block_length = 1;
      }
      if (auto* map = std::get_if<MapSpec>(&stage.kind)) {
        map->deterministic = true;
        map->on = MapOn::kHost;  // the same ops, elsewhere
      }
    }
    std::erase_if(spec.stages, [](const StageSpec& stage) {
      return std::holds_alternative<PrefetchSpec>(stage.kind);
    });
    DropStores(spec.stages);
    GatherMaps(spec.stages);
    return DataKey(spec, 1);
  };
  const TrainerSpec& x = a.trainer;
  const TrainerSpec& y = b.trainer;
  return x.precision == y.precision && x.optimizer == y.optimizer && x.accumulate == y.accumulate &&
         x.model == y.model && x.loss_scale == y.loss_scale && plain(a) == plain(b);
}

double DistanceOf(const Spec& from, const Spec& to, int cores) {
  double distance =
      to.stages.size() > from.stages.size() ? kStageCost : 0;  // no move takes a stage away
  for (const TunedKnob& knob : TunedKnobs(to, cores)) {
    const auto now = GetKnob(to, knob.path);
    const auto before = GetKnob(from, knob.path);
    if (!now.ok() || !before.ok() || now.value() == before.value()) continue;
    const auto old_number = NumberIn(before.value());
    const auto new_number = NumberIn(now.value());
    if (!old_number || !new_number) {
      distance += kSwitchCost;
      continue;
    }
    const bool workers = knob.path.ends_with(".parallelism") || knob.path.ends_with(".num_workers");
    distance +=
        (workers ? kWorkerCost : 1) * std::abs(std::log2((*new_number + 1) / (*old_number + 1)));
  }
  return distance;
}

}  // namespace stallscope::replay
