// From a spec to groups of threads, as collectors/pipeline/builder.cpp makes them.
#include <algorithm>
#include <cmath>
#include <utility>

#include "replay/simulate/network.h"
#include "replay/simulate/step_plan.h"
#include "replay/workload/known_ops.h"

namespace stallscope::replay {
namespace {

// What a thread of its own costs an element that was worked on in the thread that asked before:
// queue, lock, now and then a wake-up.
constexpr double kHandoverNs = 3'000;
// A copy of an element into a cache in memory, or out of it.
constexpr double kCopyBytesPerNs = 4;
constexpr double kStoreNs = 500;
// TFRecord's length and checksums.
constexpr double kRecordFraming = 16;
constexpr uint64_t kLeastLane = 4;  // elements that are read ahead of a file (source_stage.h)
constexpr uint64_t kMostLane = 64;
// Cores share caches, memory and often execution units: of two that are both busy each does 4 %
// less than one alone (tests/bench saw 2 to 31 % of decoding loops).
constexpr double kSharing = 0.08;
constexpr uint64_t kMostShuffled = 16'384;
constexpr int64_t kTunedBuffer =
    8;  // where "auto" was not recorded; it stops once nothing is gained

template <class Kind>
const Kind* As(const StageSpec& stage) {
  return std::get_if<Kind>(&stage.kind);
}

class Builder {
 public:
  Builder(const Workload& workload, uint64_t batches)
      : workload_(workload),
        recorded_(*workload.recorded),
        batch_(BatchOf(workload.spec)),
        epoch_share_(EpochShare(workload, batches)) {
    network_.stages = workload.spec.stages.size();
    network_.workers.assign(network_.stages + 1, 1);
    const double cores = std::max(1.0, recorded_.cores);
    network_.cores =
        std::max(0.1, recorded_.cores - recorded_.other_cores) * (1 - kSharing * (1 - 1 / cores));
    network_.wake_ns = recorded_.wake_ns;
  }

  Network Build() {
    // The order in which the stages run; names keep the costs.
    const std::vector<uint32_t> order = RunOrder(workload_.spec);
    size_t first = FirstStored(order);
    for (size_t i = first; i < order.size(); ++i) {
      const uint32_t at = order[i];
      const StageSpec& stage = workload_.spec.stages[at];
      stored_first_ = first > 0 && i == first;
      if (const auto* source = As<SourceSpec>(stage)) {
        AddSource(*source, at);
      } else if (const auto* map = As<MapSpec>(stage)) {
        i += AddMap(*map, order, i);
      } else if (const auto* batch = As<BatchSpec>(stage)) {
        AddBatch(*batch, at, {});
      } else if (const auto* prefetch = As<PrefetchSpec>(stage)) {
        AddPrefetch(*prefetch, at);
      } else {
        chain_.push_back(OrderHop(stage, at));
      }
    }
    network_.trainer.input = static_cast<int>(network_.groups.size()) - 1;
    network_.trainer.chain = std::move(chain_);
    network_.step = StepPlanOf(workload_);
    return std::move(network_);
  }

 private:
  static uint64_t BatchOf(const Spec& spec) { return BatchSize(spec); }

  // A run of which only a part is simulated has its epochs cut alike, where they matter.
  static double EpochShare(const Workload& workload, uint64_t batches) {
    const bool stores = std::any_of(
        workload.spec.stages.begin(), workload.spec.stages.end(),
        [](const StageSpec& stage) { return As<CacheSpec>(stage) || As<SnapshotSpec>(stage); });
    const auto steps = static_cast<double>(workload.steps());
    if (!stores || steps <= 0) return 1;
    return std::min(1.0, static_cast<double>(batches) / steps);
  }

  const StageCosts* CostsOf(uint32_t at) const {
    const auto found = recorded_.stages.find(workload_.spec.stages[at].name);
    return found == recorded_.stages.end() ? nullptr : &found->second;
  }

  // The stages that run: maps on the device are the device's, and a shuffle may move.
  std::vector<uint32_t> RunOrder(const Spec& spec) const {
    std::vector<uint32_t> order;
    for (uint32_t at = 0; at < spec.stages.size(); ++at) {
      const auto* map = As<MapSpec>(spec.stages[at]);
      if (map == nullptr || map->on == MapOn::kHost) order.push_back(at);
    }
    if (!spec.rewrites.shuffle_before_decode) return order;
    for (size_t i = 1; i < order.size(); ++i) {
      for (size_t at = i; at > 0; --at) {
        const auto* map = As<MapSpec>(spec.stages[order[at - 1]]);
        if (map == nullptr || !map->deterministic ||
            As<ShuffleSpec>(spec.stages[order[at]]) == nullptr) {
          break;
        }
        std::swap(order[at - 1], order[at]);
      }
    }
    return order;
  }

  // A store that an earlier run has filled stands for all before it.
  size_t FirstStored(const std::vector<uint32_t>& order) const {
    const StageCosts* source = CostsOf(order.front());
    if (source == nullptr || !source->items.empty()) return 0;
    for (size_t i = order.size(); i-- > 1;) {
      const StageCosts* costs = CostsOf(order[i]);
      if (costs != nullptr && costs->items.empty() && !costs->hits.empty()) return i;
    }
    return 0;
  }

  double SpeedOf(uint32_t at) const {
    const auto found = workload_.speed_up.find(workload_.spec.stages[at].name);
    return found == workload_.speed_up.end() ? 1 : found->second;
  }
  double Calibrated() const {
    return workload_.calibration.has_value() ? workload_.calibration->input_scale : 1;
  }

  Hop Base(uint32_t at, Hop::Kind kind) const {
    Hop hop;
    hop.kind = kind;
    hop.stage = at;
    const double speed = Calibrated() / SpeedOf(at);
    hop.scale = hop.io_scale = speed;
    const StageCosts* costs = CostsOf(at);
    if (costs == nullptr) return hop;
    hop.costs = &costs->items;
    hop.kept = costs->kept;
    // Of a batch it does as much as of its samples.
    const double now = batched_ || kind == Hop::Kind::kBatch ? static_cast<double>(batch_) : 1;
    hop.scale *= now / (costs->of_batches ? recorded_.trainer.batch : 1);
    return hop;
  }

  Hop OrderHop(const StageSpec& stage, uint32_t at) {
    if (const auto* shuffle = As<ShuffleSpec>(stage)) {
      Hop hop = Base(at, Hop::Kind::kShuffle);
      hop.size = static_cast<uint64_t>(shuffle->buffer_size);
      hop.epoch = EpochItems(at);
      // A pass that has fewer never fills it; and how long the first filling takes is warm-up.
      const uint64_t pass = recorded_.elements_per_epoch.value_or(kMostShuffled);
      hop.size = std::min({hop.size, std::max<uint64_t>(pass, 1), kMostShuffled});
      return hop;
    }
    if (As<FilterSpec>(stage) != nullptr) {
      Hop hop = Base(at, Hop::Kind::kFilter);
      kept_ *= hop.kept;
      return hop;
    }
    if (As<CacheSpec>(stage) != nullptr || As<SnapshotSpec>(stage) != nullptr) return Store(at);
    Hop hop = Base(at, Hop::Kind::kWork);
    if (const auto* shard = As<ShardSpec>(stage)) {
      // One of so many goes on: what a batch of that size would do.
      hop.kind = Hop::Kind::kBatch;
      hop.size = static_cast<uint64_t>(shard->count);
      kept_ /= static_cast<double>(shard->count);
    }
    return hop;
  }

  Hop Store(uint32_t at) {
    Hop hop = Base(at, Hop::Kind::kCache);
    const StageCosts* costs = CostsOf(at);
    hop.epoch = EpochItems(at);
    // Of a recorded store the items that were put in came first.
    const double estimate = kStoreNs + ItemBytes(workload_, at) *
                                           (batched_ ? static_cast<double>(batch_) : 1) /
                                           kCopyBytesPerNs;
    hop.hits = costs != nullptr ? &costs->hits : nullptr;
    if (costs == nullptr || costs->items.empty()) hop.more_cpu_ns = estimate;
    if (costs == nullptr || costs->hits.empty()) hop.hit_cpu_ns = estimate;
    if (stored_first_) {
      hop.kind = Hop::Kind::kWork;
      hop.costs = hop.hits;
      hop.more_cpu_ns = 0;
    }
    return hop;
  }

  // Items that reach a stage in one pass over the data; 0 where no pass ends.
  uint64_t EpochItems(uint32_t at) const {
    if (!recorded_.elements_per_epoch.has_value()) return 0;
    const auto& stages = workload_.spec.stages;
    const bool repeated =
        std::any_of(stages.begin() + at, stages.end(),
                    [](const StageSpec& stage) { return As<RepeatSpec>(stage) != nullptr; });
    if (!repeated) return 0;
    const auto elements = static_cast<double>(*recorded_.elements_per_epoch);
    const double items =
        elements * epoch_share_ * kept_ / (batched_ ? static_cast<double>(batch_) : 1);
    return std::max<uint64_t>(1, static_cast<uint64_t>(std::llround(items)));
  }

  int64_t ValueOf(const Knob& knob, const std::string& path, int64_t otherwise) const {
    if (!knob.automatic) return knob.value;
    const auto tuned = recorded_.tuned.find(path);
    return tuned != recorded_.tuned.end() ? tuned->second : otherwise;
  }
  int64_t Workers(const Knob& knob, uint32_t at) const {
    // As many as the cores can feed; of what mostly waits as many as the tuner may take.
    const StageCosts* costs = CostsOf(at);
    const bool waits =
        costs != nullptr && costs->mean_blocked_ns + costs->mean_io_ns > costs->mean_cpu_ns;
    const auto cores = static_cast<int64_t>(std::max(1.0, std::round(recorded_.cores)));
    const int64_t most = waits ? std::max<int64_t>(cores * 2, 4) : cores;
    return ValueOf(knob, workload_.spec.stages[at].name + ".parallelism", most);
  }

  double HandoverOf(uint32_t at) const {
    const StageCosts* costs = CostsOf(at);
    if (costs == nullptr || costs->handover_ns <= 0) return kHandoverNs * Calibrated();
    const double now = batched_ ? static_cast<double>(batch_) : 1;
    return costs->handover_ns * Calibrated() * now /
           (costs->of_batches ? recorded_.trainer.batch : 1);
  }

  // Ends the chain with threads of its own.
  void Close(Group group, uint32_t at) {
    group.input = static_cast<int>(network_.groups.size()) - 1;
    if (std::any_of(chain_.begin(), chain_.end(), [&](const Hop& hop) {
          return As<SourceSpec>(workload_.spec.stages[hop.stage]) != nullptr;
        })) {
      group.input = -1;
    }
    group.chain = std::exchange(chain_, {});
    for (const Hop& hop : group.work) {
      network_.workers[hop.stage] = static_cast<double>(group.workers);
    }
    group.handover_ns = HandoverOf(at);
    network_.groups.push_back(std::move(group));
  }

  void AddSource(const SourceSpec& source, uint32_t at) {
    Hop hop = Base(at, Hop::Kind::kWork);
    const auto& before = std::get<SourceSpec>(recorded_.spec.stages.front().kind);
    hop.more_cpu_ns = (source.busy_us - before.busy_us) * 1e3 / SpeedOf(at);
    hop.more_blocked_ns = (source.sleep_us - before.sleep_us) * 1e3 / SpeedOf(at);
    if (source.throttle_bytes_per_s > 0) {
      network_.disk_ns_per_byte = 1e9 / static_cast<double>(source.throttle_bytes_per_s);
      const StageCosts* costs = CostsOf(at);
      const double bytes = costs != nullptr ? costs->bytes + kRecordFraming : 0;
      hop.io_bytes = static_cast<uint64_t>(std::llround(bytes / SpeedOf(at)));
    } else if (before.throttle_bytes_per_s > 0) {
      hop.io_scale = 0;
    }
    const bool serial = source.format == SourceFormat::kSerial;
    const int64_t asked = Workers(source.parallelism, at);
    if (serial || asked <= 1) {
      chain_.push_back(hop);
      return;
    }
    Group group;
    group.workers = static_cast<uint64_t>(asked);
    group.limit = group.workers;
    group.ordered = source.deterministic;
    group.work.push_back(hop);
    if (!source.files.empty()) LimitReaders(source, group);
    Close(std::move(group), at);
    network_.groups.back().input = -1;
  }

  // Readers have a file of their own at a time: those of the cycle, and for small files the next
  // ones.
  void LimitReaders(const SourceSpec& source, Group& group) const {
    const auto cycle = static_cast<uint64_t>(
        ValueOf(source.cycle_length, "", static_cast<int64_t>(group.workers)));
    const uint64_t lane =
        std::clamp(static_cast<uint64_t>(source.block_length), kLeastLane, kMostLane);
    const double file = recorded_.elements_per_file;
    const bool small = file > 0 && file <= static_cast<double>(lane);
    if (!small) group.workers = std::min(group.workers, cycle);
    group.limit =
        small ? static_cast<uint64_t>(std::ceil(file)) * (cycle + group.workers) : lane * cycle;
    group.limit = std::max(group.limit, group.workers);
  }

  Hop MapHop(const MapSpec& map, uint32_t at) const {
    Hop hop = Base(at, Hop::Kind::kWork);
    const auto before = std::find_if(
        recorded_.spec.stages.begin(), recorded_.spec.stages.end(),
        [&](const StageSpec& stage) { return stage.name == workload_.spec.stages[at].name; });
    const MapSpec* old =
        before == recorded_.spec.stages.end() ? nullptr : std::get_if<MapSpec>(&before->kind);
    const auto known =
        KnownDifference(old != nullptr ? old->ops : std::vector<std::string>(), map.ops);
    if (known.has_value()) {
      const double items = batched_ ? static_cast<double>(batch_) : 1;
      hop.more_cpu_ns = static_cast<double>(known->cpu_ns) * items / SpeedOf(at);
      hop.more_blocked_ns = static_cast<double>(known->blocked_ns) * items / SpeedOf(at);
    }
    return hop;
  }

  // Gives back how many further stages it has taken with it.
  size_t AddMap(const MapSpec& first, const std::vector<uint32_t>& order, size_t i) {
    const auto& stages = workload_.spec.stages;
    const RewritesSpec& rewrites = workload_.spec.rewrites;
    std::vector<Hop> pieces = {MapHop(first, order[i])};
    int64_t workers = Workers(first.parallelism, order[i]);
    size_t taken = 0;
    const auto next = [&]() -> const StageSpec* {
      return i + taken + 1 < order.size() ? &stages[order[i + taken + 1]] : nullptr;
    };
    while (rewrites.map_fusion && next() != nullptr) {
      const auto* map = As<MapSpec>(*next());
      if (map == nullptr || map->deterministic != first.deterministic) break;
      ++taken;
      pieces.push_back(MapHop(*map, order[i + taken]));
      workers = std::max(workers, Workers(map->parallelism, order[i + taken]));
    }
    if (rewrites.map_and_batch && first.deterministic && next() != nullptr) {
      if (const auto* batch = As<BatchSpec>(*next())) {
        ++taken;
        AddBatch(*batch, order[i + taken], std::move(pieces), workers);
        return taken;
      }
    }
    if (workers <= 1) {
      chain_.insert(chain_.end(), pieces.begin(), pieces.end());
      return taken;
    }
    Group group;
    group.workers = group.limit = static_cast<uint64_t>(workers);
    group.ordered = first.deterministic;
    group.work = std::move(pieces);
    Close(std::move(group), order[i + taken]);
    return taken;
  }

  void AddBatch(const BatchSpec& batch, uint32_t at, std::vector<Hop> pieces, int64_t workers = 1) {
    workers = std::max(workers, Workers(batch.parallelism, at));
    Hop hop = Base(at, Hop::Kind::kBatch);
    hop.size = batch_;
    if (!pieces.empty()) hop.costs = nullptr;  // samples are made where they stay
    if (workers <= 1) {
      chain_.insert(chain_.end(), pieces.begin(), pieces.end());
      chain_.push_back(hop);
      batched_ = true;
      return;
    }
    Group group;
    group.workers = group.limit = static_cast<uint64_t>(workers);
    group.job = batch_;
    for (Hop& piece : pieces) piece.times = batch_;
    group.work = std::move(pieces);
    hop.kind = Hop::Kind::kWork;
    group.work.push_back(hop);
    batched_ = true;
    Close(std::move(group), at);
  }

  void AddPrefetch(const PrefetchSpec& prefetch, uint32_t at) {
    const int64_t buffer = ValueOf(prefetch.buffer_size,
                                   workload_.spec.stages[at].name + ".buffer_size", kTunedBuffer);
    if (buffer <= 0) return;
    Group group;
    group.limit = static_cast<uint64_t>(buffer);
    Close(std::move(group), at);
  }

  const Workload& workload_;
  const Recorded& recorded_;
  const uint64_t batch_;
  const double epoch_share_;
  Network network_;
  std::vector<Hop> chain_;
  bool batched_ = false;
  bool stored_first_ = false;
  double kept_ = 1;  // of the source's elements, that come so far
};

}  // namespace

Network BuildNetwork(const Workload& workload, uint64_t batches) {
  return Builder(workload, batches).Build();
}

}  // namespace stallscope::replay
