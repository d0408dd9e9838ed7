#include "analyzer/findings/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include "analyzer/findings/thresholds.h"
#include "analyzer/findings/traced_pipeline.h"
#include "analyzer/model/job_spec.h"
#include "analyzer/model/ranks.h"

namespace stallscope::findings {
namespace {

struct RoleWord {
  std::string_view word;  // in lower case, within the kind
  StageRole role;
};
// The first that is found; "interleave" and "tfrecord" before "map", "shard" before "cache".
constexpr std::array kRoleWords = {
    RoleWord{"trainer", StageRole::kTrainer},   RoleWord{"serial", StageRole::kSource},
    RoleWord{"source", StageRole::kSource},     RoleWord{"interleave", StageRole::kSource},
    RoleWord{"tfrecord", StageRole::kSource},   RoleWord{"textline", StageRole::kSource},
    RoleWord{"reader", StageRole::kSource},     RoleWord{"generator", StageRole::kSource},
    RoleWord{"shuffle", StageRole::kShuffle},   RoleWord{"shard", StageRole::kShard},
    RoleWord{"repeat", StageRole::kRepeat},     RoleWord{"filter", StageRole::kFilter},
    RoleWord{"prefetch", StageRole::kPrefetch}, RoleWord{"batch", StageRole::kBatch},
    RoleWord{"collate", StageRole::kBatch},     RoleWord{"map", StageRole::kMap},
    RoleWord{"cache", StageRole::kCache},       RoleWord{"snapshot", StageRole::kCache},
};

// Depth first over the inputs, so that each stage comes after what it reads. On a heap-allocated
// stack: the chain of a foreign trace has no bound.
void Visit(const model::Run& run, size_t from, std::vector<bool>& seen,
           std::vector<StageId>& order) {
  struct Open {
    size_t stage;
    size_t next_input;
  };
  std::vector<Open> open;
  const auto enter = [&](size_t stage) {
    if (stage >= run.stages.size() || seen[stage]) return;
    seen[stage] = true;
    open.push_back({stage, 0});
  };
  enter(from);
  while (!open.empty()) {
    const size_t stage = open.back().stage;
    const auto& inputs = run.stages[stage].inputs;
    if (open.back().next_input < inputs.size()) {
      enter(inputs[open.back().next_input++].value);
    } else {
      order.push_back(run.stages[stage].id);
      open.pop_back();
    }
  }
}

// By how much a running total grew in the window, and in how many samples.
struct CounterGrowth {
  uint64_t samples = 0;
  double value = 0;
};

CounterGrowth GrowthOf(const Case& c, std::string_view name) {
  CounterGrowth growth;
  const auto& window = c.attribution.window;
  for (const trace::CounterInfo& counter : c.run.counters) {
    if (counter.name != name) continue;
    double before = 0;
    for (const trace::Sample& sample : c.run.rows.samples) {
      if (sample.counter != counter.id) continue;
      if (sample.time_ns >= window.start_ns && sample.time_ns < window.end_ns) {
        ++growth.samples;
        growth.value += std::max(0.0, sample.value - before);
      }
      before = sample.value;
    }
    return growth;
  }
  return growth;
}

// The share from which a category is worth a change. In a balanced run a small one is not, but two
// large ones that are alike are balanced, too.
double BarFor(const Verdict& verdict) {
  if (verdict.beside_profile) return 2;
  switch (verdict.bound) {
    case Bound::kInput:
    case Bound::kTransfer:
    case Bound::kLaunch:
    case Bound::kCommunication:
      return kModerateShare;
    case Bound::kBalanced:
      return kNamesTheBound;
    case Bound::kCompute:
    case Bound::kInconclusive:
      break;
  }
  return 2;
}

}  // namespace

double Share(const Case& c, Category category) {
  const auto& total = c.attribution.breakdown[At(category)];
  return total.has_value() ? total->fraction : 0;
}

std::string KnownShares(const Case& c, std::initializer_list<Category> categories) {
  std::string text;
  for (const Category category : categories) {
    if (!c.attribution.breakdown[At(category)].has_value()) continue;
    std::string word(attribution::WordFor(category));
    std::replace(word.begin(), word.end(), '_', ' ');
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", word, Percent(Share(c, category)));
  }
  return text;
}

double Blamed(const Case& c, StageId stage) {
  double share = 0;
  for (const auto& blame : c.attribution.blame) {
    if (blame.stage == stage) share += blame.fraction;
  }
  return share;
}

double Blamed(const Case& c, StageId stage, std::initializer_list<Cause> causes) {
  double share = 0;
  for (const auto& blame : c.attribution.blame) {
    const bool asked = std::find(causes.begin(), causes.end(), blame.cause) != causes.end();
    if (blame.stage == stage && asked) share += blame.fraction;
  }
  return share;
}

double BlamedOn(const Case& c, Cause cause) {
  double share = 0;
  for (const auto& blame : c.attribution.blame) {
    if (blame.cause == cause) share += blame.fraction;
  }
  return share;
}

double BlamedForWork(const Case& c, StageId stage) {
  return Blamed(c, stage) - Blamed(c, stage, {Cause::kOrder, Cause::kBuffer});
}

double TakenBy(const Case& c, StageId stage) {
  int64_t own = 0;
  int64_t all = 0;
  for (const attribution::StageUse& use : c.attribution.stages) {
    if (model::IsTrainer(c.run, use.stage)) continue;
    all += use.cpu_ns;
    if (use.stage == stage) own = use.cpu_ns;
  }
  return all == 0
             ? 0
             : TakenByInput(c.attribution) * static_cast<double>(own) / static_cast<double>(all);
}

bool Worth(const Case& c, Category category) { return Share(c, category) >= BarFor(c.verdict); }

bool BusyBetweenLaunches(const Case& c) {
  const auto& idle = c.attribution.idle;
  return idle.launches > 0 && static_cast<double>(idle.launch_ns) >
                                  kSlowestLaunchNs * static_cast<double>(idle.launches);
}

bool LaunchesAreWorth(const Case& c) {
  return Worth(c, Category::kLaunch) && !BusyBetweenLaunches(c);
}

bool WorthAt(const Case& c, StageId stage, std::initializer_list<Cause> causes) {
  return Worth(c, Category::kInputStall) && Blamed(c, stage, causes) >= kModerateShare;
}

const attribution::StageUse* UseOf(const Case& c, StageId stage) {
  const auto& stages = c.attribution.stages;
  const auto at = std::find_if(stages.begin(), stages.end(), [&](const attribution::StageUse& use) {
    return use.stage == stage;
  });
  return at == stages.end() ? nullptr : &*at;
}

int64_t RanksOf(const Case& c, StageId stage) {
  std::set<uint32_t> ranks;
  const attribution::StageUse* const use = UseOf(c, stage);
  const StageId threads = use != nullptr && use->runs_in.known() ? use->runs_in : stage;
  for (const model::Track& track : c.run.tracks) {
    if (track.info.stage == threads) ranks.insert(track.rank);
  }
  return std::max<int64_t>(1, static_cast<int64_t>(ranks.size()));
}

int64_t CoresOfRank(const Case& c) {
  const std::set<uint32_t> ranks(c.run.step_ranks.begin(), c.run.step_ranks.end());
  double cores = c.attribution.cpu.cores;
  if (c.run.ranks_of_host == 0) {
    cores /= static_cast<double>(std::max<size_t>(ranks.size(), 1));
  } else {
    // A launcher may have given each rank cores of its own; a quota is the container's.
    const trace::HostInfo& host = c.run.info.host;
    for (const double shared : {static_cast<double>(host.cores_online), host.cgroup_cores}) {
      if (shared > 0) cores = std::min(cores, shared / static_cast<double>(c.run.ranks_of_host));
    }
  }
  return std::max<int64_t>(std::llround(cores), 1);
}

bool HasOwnThreads(const Case& c, StageId stage) {
  if (!stage.known() || RoleOf(c, stage) == StageRole::kTrainer) return false;
  const auto& uses = c.attribution.stages;
  // A prefetch does no work of its own: only its threads show it.
  return std::any_of(uses.begin(), uses.end(),
                     [&](const auto& use) { return use.runs_in == stage; }) ||
         std::any_of(c.run.tracks.begin(), c.run.tracks.end(), [&](const model::Track& track) {
           return track.info.stage == stage && track.info.kind == trace::TrackKind::kThread;
         });
}

const Spec* ChangeableSpec(const Case& c) {
  if (c.spec.has_value()) return &*c.spec;
  return c.stages.has_value() ? &*c.stages : nullptr;
}

StageId StageNamed(const Case& c, std::string_view name) {
  for (const auto& stage : c.run.stages) {
    if (stage.name == name) return stage.id;
  }
  return StageId::None();
}

std::vector<StageId> InOrder(const Case& c) {
  std::vector<bool> seen(c.run.stages.size());
  std::vector<StageId> order;
  for (size_t i = 0; i < c.run.stages.size(); ++i) Visit(c.run, i, seen, order);
  order.erase(
      std::remove_if(order.begin(), order.end(),
                     [&](StageId stage) { return RoleOf(c, stage) == StageRole::kTrainer; }),
      order.end());
  return order;
}

StageRole RoleOf(const Case& c, StageId stage) {
  if (stage.value >= c.run.stages.size()) return StageRole::kOther;
  // What a loader of a job is made of has no knobs of a spec.
  if (JobLoaderOf(c, stage) != nullptr) return StageRole::kOther;
  std::string kind = c.run.stages[stage.value].kind;
  std::transform(kind.begin(), kind.end(), kind.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  });
  for (const RoleWord& known : kRoleWords) {
    if (kind.find(known.word) != std::string::npos) return known.role;
  }
  return StageRole::kOther;
}

bool IsTuned(const Case& c, StageId stage) {
  return stage.value < c.run.stages.size() && c.run.stages[stage.value].tuned;
}

bool IsDataLoader(const Case& c, StageId stage) {
  return stage.value < c.run.stages.size() && c.run.stages[stage.value].kind == "dataloader";
}

const model::Loader* JobLoaderOf(const Case& c, StageId stage) {
  if (stage.value >= c.run.stages.size()) return nullptr;
  const LoaderId loader = c.run.stages[stage.value].loader;
  if (loader.value >= c.run.loaders.size()) return nullptr;
  const model::Loader* const found = &c.run.loaders[loader.value];
  // The nodes of a tf.data graph are stages, as in any profile.
  return model::IsTfData(found->info) ? nullptr : found;
}

int64_t ShardsOf(const model::Loader& loader) {
  const auto settings = model::SettingsOf(loader.info);
  const auto found = settings.find("shards");
  int64_t shards = 0;
  if (found == settings.end()) return 0;
  std::from_chars(found->second.data(), found->second.data() + found->second.size(), shards);
  return std::max<int64_t>(shards, 0);
}

bool IsSampler(const Case& c, StageId stage) {
  if (JobLoaderOf(c, stage) == nullptr) return false;
  const std::string& name = c.run.stages[stage.value].name;
  return name == "sampler" || name.ends_with(".sampler");
}

bool Passes::OnePerStep() const { return left_early && count >= kManyPasses && count == steps; }

Passes PassesOf(const Case& c, LoaderId loader) {
  std::set<uint64_t> seen;
  Passes passes;
  if (loader.value >= c.run.loaders.size()) return passes;
  passes.left_early = model::SettingsOf(c.run.loaders[loader.value].info).contains("left_early");
  int64_t first = 0;
  int64_t last = 0;
  for (const trace::Step& step : c.run.rows.steps) {
    if (model::LoaderOfBatch(step.batch) != loader.value) continue;
    ++passes.steps;
    if (!seen.insert(model::PassOfBatch(step.batch)).second) continue;
    if (seen.size() == 1) first = step.requested_ns;
    last = step.requested_ns;
  }
  passes.count = seen.size();
  if (passes.count > 1) {
    passes.mean_ns = static_cast<double>(last - first) / static_cast<double>(passes.count - 1);
  }
  return passes;
}

bool RepeatsInWorkers(const model::Loader& loader) {
  return model::SettingsOf(loader.info).contains("whole_in_each_worker");
}

std::string SharedLockOf(const Case& c, StageId stage) {
  const attribution::StageUse* const use = UseOf(c, stage);
  if (use == nullptr) return "";
  const auto lock = std::find_if(use->ops.begin(), use->ops.end(),
                                 [](const auto& op) { return attribution::IsHeldLock(op.name); });
  if (lock == use->ops.end()) return "";
  attribution::OpUse named = *lock;
  named.name = named.name.substr(0, named.name.rfind(' '));
  return OpWithPlace(named);
}

std::string OpWithPlace(const attribution::OpUse& op) {
  const std::string place = words::PlaceInCode(op.file, op.line);
  return place.empty() ? op.name : op.name + " (" + place + ")";
}

std::string NameOf(const Case& c, StageId stage) {
  const std::string_view name = c.run.NameOf(stage);
  return name.empty() ? "the input" : std::string(name);
}

std::string NamesOf(const Case& c, const std::vector<StageId>& stages) {
  std::string names;
  for (size_t i = 0; i < stages.size(); ++i) {
    if (i > 0) names += i + 1 == stages.size() ? " and " : ", ";
    names += NameOf(c, stages[i]);
  }
  return names;
}

bool HasAccelerator(const Case& c) {
  return c.run.info.device.kind != "host" && !c.attribution.devices.empty();
}

int64_t BatchesPerUpdate(const Case& c) {
  return c.spec.has_value() ? c.spec->trainer.accumulate : 1;
}

bool ComputesReally(const Case& c) { return HasAccelerator(c) && !c.run.info.device.emulated(); }

bool KnowsCpu(const attribution::StageUse& use) {
  return use.cpu_ns + use.blocked_ns + use.contention_ns > 0;
}

bool IsEmulated(const Case& c) {
  return c.spec.has_value() && c.spec->trainer.device == TrainerDevice::kEmulated;
}

std::string WhyNotSideBySide(const Case& c) {
  if (!c.run.imported()) return "";
  const auto& stages = c.attribution.stages;
  // The trainer's own thread does not show what the loader's threads do.
  const bool cpu_known = std::any_of(stages.begin(), stages.end(), [&](const auto& use) {
    return KnowsCpu(use) && RoleOf(c, use.stage) != StageRole::kTrainer;
  });
  std::string missing;
  if (c.attribution.cpu.cores <= 0) missing = "how many cores the machine has";
  if (!cpu_known) {
    missing += missing.empty() ? "" : ", or ";
    missing += "when the loader's threads were on a core and when they waited";
  }
  if (missing.empty()) return "";
  return "this trace does not say " + missing +
         ", and the gain depends on it: record a run with the change";
}

std::string UpToTheCores(const Case& c) {
  return c.attribution.cpu.cores > 0 ? "" : ", no more than the machine has cores";
}

std::string WorkersInCode(const Case& c, int64_t workers) {
  if (c.attribution.cpu.cores > 0) return std::to_string(workers);
  return fmt::format("min({}, os.cpu_count())", workers);
}

double MedianStepNs(const Case& c) {
  return c.attribution.step_ns.has_value() ? c.attribution.step_ns->p50 : 0;
}

uint64_t ElementsOfEpoch(const Case& c) {
  // Only an epoch followed by another is complete; a cache makes its source run just once.
  const auto& events = c.run.rows.cache_events;
  const bool kept = std::any_of(events.begin(), events.end(),
                                [](const auto& event) { return event.op == trace::CacheOp::kHit; });
  if (!HasSeveralEpochs(c) && !kept) return 0;
  const auto& elements = c.run.rows.elements;
  return static_cast<uint64_t>(
      std::count_if(elements.begin(), elements.end(), [](const auto& e) { return e.epoch == 0; }));
}

bool HasSeveralEpochs(const Case& c) {
  const auto& elements = c.run.rows.elements;
  return std::any_of(elements.begin(), elements.end(), [](const auto& e) { return e.epoch > 0; });
}

size_t FilesOf(const Case& c, StageId source) {
  const int64_t found = NumberSettingOf(c, source, "files");
  if (found > 0) return static_cast<size_t>(found);
  std::set<trace::StringId> files;
  for (const auto& element : c.run.rows.elements) {
    if (element.file != trace::StringId::None()) files.insert(element.file);
  }
  return files.size();
}

double BytesOfElement(const Case& c) {
  const auto& elements = c.run.rows.elements;
  if (elements.empty()) return 0;
  double bytes = 0;
  for (const auto& element : elements) bytes += static_cast<double>(element.bytes);
  return bytes / static_cast<double>(elements.size());
}

double BytesOfSample(const Case& c) {
  for (const auto& use : c.attribution.stages) {
    if (RoleOf(c, use.stage) != StageRole::kBatch || use.elements == 0) continue;
    return static_cast<double>(use.bytes) / static_cast<double>(use.elements) *
           use.items_per_sample;
  }
  return 0;
}

double BytesOfBatch(const Case& c) {
  double bytes = 0;
  std::set<ItemId> batches;
  for (const auto& copy : c.run.rows.copies) {
    if (copy.direction != trace::CopyDirection::kHostToDevice || !copy.batch.known()) continue;
    bytes += static_cast<double>(copy.bytes);
    batches.insert(copy.batch);
  }
  return batches.empty() ? 0 : bytes / static_cast<double>(batches.size());
}

uint64_t FreeMemory(const Case& c) {
  const auto& memory = c.attribution.memory;
  uint64_t free = memory.available_bytes.value_or(0);
  if (memory.limit_bytes > 0 && memory.peak_rss_bytes.has_value()) {
    const uint64_t left = memory.limit_bytes - std::min(memory.limit_bytes, *memory.peak_rss_bytes);
    free = memory.available_bytes.has_value() ? std::min(free, left) : left;
  }
  return free;
}

std::optional<DeviceRoom> DeviceRoomOf(const Case& c) {
  const DeviceRoom memory{static_cast<double>(c.run.info.device.memory_bytes),
                          static_cast<double>(c.attribution.memory.device_peak_bytes.value_or(0))};
  if (!HasAccelerator(c) || memory.limit <= 0 || memory.peak <= 0) return std::nullopt;
  return memory;
}

std::string BeforeMoreDeviceMemory(const Case& c, double more_bytes) {
  const std::optional<DeviceRoom> memory = DeviceRoomOf(c);
  if (!memory.has_value() || memory->peak + more_bytes <= kMemoryRisk * memory->limit) return "";
  return fmt::format("free device memory first (it would be {} full, {} of {}), then ",
                     Percent((memory->peak + more_bytes) / memory->limit),
                     Bytes(memory->peak + more_bytes), Bytes(memory->limit));
}

CountedTime CountedIn(const Case& c, std::string_view name) {
  CountedTime counted;
  counted.count = GrowthOf(c, name).samples;
  const auto window_ns = static_cast<double>(c.attribution.window.ns());
  if (window_ns > 0) {
    counted.share = GrowthOf(c, std::string(name) + " time").value / window_ns;
  }
  return counted;
}

std::optional<size_t> ShardOf(const Case& c, trace::StringId file) {
  std::map<std::string_view, uint64_t> last_record;  // by file, sorted by name
  for (const auto& element : c.run.rows.elements) {
    if (element.file == trace::StringId::None()) continue;
    uint64_t& last = last_record[c.run.Text(element.file)];
    last = std::max(last, element.record);
  }
  const auto at = last_record.find(c.run.Text(file));
  if (at == last_record.end() || at->second == 0) return std::nullopt;
  return static_cast<size_t>(std::distance(last_record.begin(), at));
}

}  // namespace stallscope::findings
