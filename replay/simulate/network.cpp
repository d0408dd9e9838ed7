// From a plan to groups of threads.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "analyzer/plan/plan.h"
#include "replay/simulate/model_constants.h"
#include "replay/simulate/network.h"

namespace stallscope::replay {
namespace {

class NetworkBuilder {
 public:
  NetworkBuilder(const Workload& workload, const plan::Graph& graph, uint64_t batches, Ends ends)
      : workload_(workload),
        ends_(ends),
        recorded_(*workload.recorded),
        graph_(graph),
        tuner_cores_(plan::TunerCores(workload.spec.budget, std::llround(recorded_.cores))),
        batch_(BatchSize(workload.spec)),
        epoch_share_(EpochShare(workload, batches)) {
    network_.stages = workload.spec.stages.size();
    network_.workers.assign(network_.stages + 1, 1);
    network_.cores = UsableCores(recorded_);
    network_.wake_ns = recorded_.wake_ns;
  }

  Network Build() {
    const size_t first = FirstStored();
    for (size_t i = first; i < graph_.nodes.size(); ++i) {
      stored_first_ = first > 0 && i == first;
      Add(i);
    }
    network_.trainer.input = static_cast<int>(network_.groups.size()) - 1;
    network_.trainer.chain = std::move(chain_);
    network_.step = StepPlanOf(workload_, ends_);
    return std::move(network_);
  }

 private:
  // Where only a part of a run is simulated, its epochs are cut in proportion if they matter.
  static double EpochShare(const Workload& workload, uint64_t batches) {
    const bool stores = std::any_of(workload.spec.stages.begin(), workload.spec.stages.end(),
                                    [](const StageSpec& stage) {
                                      return std::holds_alternative<CacheSpec>(stage.kind) ||
                                             std::holds_alternative<SnapshotSpec>(stage.kind);
                                    });
    const auto steps = static_cast<double>(workload.steps());
    if (!stores || steps <= 0) return 1;
    return std::min(1.0, static_cast<double>(batches) / steps);
  }

  void Add(size_t i) {
    const plan::Node& node = graph_.nodes[i];
    if (const auto* source = plan::As<SourceSpec>(node)) {
      AddSource(*source, node);
    } else if (plan::As<MapSpec>(node) != nullptr) {
      AddMap(node);
    } else if (plan::As<BatchSpec>(node) != nullptr) {
      AddBatch(node);
    } else if (plan::As<PrefetchSpec>(node) != nullptr) {
      AddPrefetch(node);
    } else {
      chain_.push_back(OrderHop(i));
    }
  }

  uint32_t IndexOf(std::string_view name) const {
    const auto& stages = workload_.spec.stages;
    const auto found = std::find_if(stages.begin(), stages.end(),
                                    [&](const StageSpec& stage) { return stage.name == name; });
    return static_cast<uint32_t>(found - stages.begin());
  }

  // A map that was cut in two has costs of its own for the part that works on whole batches.
  const StageCosts* CostsOf(std::string_view name, bool vectorized = false) const {
    if (vectorized) {
      const auto found = recorded_.vectorized.find(name);
      if (found != recorded_.vectorized.end()) return &found->second;
    }
    const auto found = recorded_.stages.find(name);
    return found == recorded_.stages.end() ? nullptr : &found->second;
  }

  // A price by usual times, of what the recorded run did not have.
  bool HasUsualCost(std::string_view name) const {
    return workload_.ops != nullptr && workload_.ops->stages.count(name) != 0;
  }

  // A snapshot that the recorded run did not have: the runs that read it count.
  size_t NewSnapshot() const {
    for (size_t i = graph_.nodes.size(); i-- > 1;) {
      const plan::Node& node = graph_.nodes[i];
      const auto& before = recorded_.spec.stages;
      const bool recorded = std::any_of(before.begin(), before.end(), [&](const StageSpec& stage) {
        return stage.name == node.stage.name;
      });
      const StageCosts* costs = CostsOf(node.stage.name);
      const bool known =
          (costs != nullptr && !costs->hits.empty()) || HasUsualCost(node.stage.name);
      if (plan::As<SnapshotSpec>(node) != nullptr && !recorded && known) return i;
    }
    return 0;
  }

  // A store that an earlier run has filled stands for all before it.
  size_t FirstStored() const {
    if (const size_t snapshot = NewSnapshot(); snapshot > 0) return snapshot;
    const StageCosts* source = CostsOf(graph_.nodes.front().stage.name);
    if (source == nullptr || !source->items.empty()) return 0;
    for (size_t i = graph_.nodes.size(); i-- > 1;) {
      const StageCosts* costs = CostsOf(graph_.nodes[i].stage.name);
      if (costs != nullptr && costs->items.empty() && !costs->hits.empty()) return i;
    }
    return 0;
  }

  double Calibrated() const {
    return workload_.calibration.has_value() ? workload_.calibration->input_scale : 1;
  }
  // Elements in an item on this part of the way.
  double ItemElements() const { return batched_ ? static_cast<double>(batch_) : 1; }

  Hop Base(std::string_view name, Hop::Kind kind, const StageCosts* costs) const {
    Hop hop;
    hop.kind = kind;
    hop.stage = IndexOf(name);
    hop.scale = hop.io_scale = Calibrated();
    if (costs == nullptr) return hop;
    hop.costs = &costs->items;
    hop.after_idle = costs->idle.factor;
    hop.kept = costs->kept;
    // A batch costs as much as its samples.
    const double now = kind == Hop::Kind::kBatch ? static_cast<double>(batch_) : ItemElements();
    hop.scale *= now / (costs->of_batches ? recorded_.trainer.batch : 1);
    return hop;
  }
  Hop Base(const plan::Node& node, Hop::Kind kind) const {
    Hop hop = Base(node.stage.name, kind, CostsOf(node.stage.name));
    ChangeCost(node.stage.name, false, hop);
    return hop;
  }

  // Where the ops are not those recorded.
  void ChangeCost(const std::string& name, bool whole, Hop& hop) const {
    if (workload_.ops == nullptr) return;
    const auto& changed = whole ? workload_.ops->whole : workload_.ops->stages;
    const auto found = changed.find(name);
    if (found == changed.end()) return;
    const ChangedCost& cost = found->second;
    const double end = At(ends_, cost.error);
    hop.scale *= cost.scale * end;
    hop.more_cpu_ns = cost.more_cpu_ns * end * ItemElements();
    hop.more_blocked_ns = cost.more_blocked_ns * end * ItemElements();
  }

  Hop OrderHop(size_t i) {
    const plan::Node& node = graph_.nodes[i];
    if (const auto* shuffle = plan::As<ShuffleSpec>(node)) {
      Hop hop = Base(node, Hop::Kind::kShuffle);
      hop.epoch = EpochItems(i);
      // A pass with fewer elements never fills it; how long the first filling takes is warm-up.
      const uint64_t pass = recorded_.elements_per_epoch.value_or(kMostShuffled);
      hop.size = std::min({static_cast<uint64_t>(shuffle->buffer_size), std::max<uint64_t>(pass, 1),
                           kMostShuffled});
      return hop;
    }
    if (plan::As<FilterSpec>(node) != nullptr) {
      Hop hop = Base(node, Hop::Kind::kFilter);
      kept_ *= hop.kept;
      return hop;
    }
    if (plan::As<CacheSpec>(node) != nullptr || plan::As<SnapshotSpec>(node) != nullptr)
      return Store(i);
    Hop hop = Base(node, Hop::Kind::kWork);
    if (const auto* shard = plan::As<ShardSpec>(node)) {
      // One in n passes, as from a batch of that size.
      hop.kind = Hop::Kind::kBatch;
      hop.size = static_cast<uint64_t>(shard->count);
      kept_ /= static_cast<double>(shard->count);
    }
    return hop;
  }

  Hop Store(size_t i) {
    Hop hop = Base(graph_.nodes[i], Hop::Kind::kCache);
    const StageCosts* costs = CostsOf(graph_.nodes[i].stage.name);
    hop.epoch = EpochItems(i);
    // Of a recorded store the items that were put in came first.
    const bool usual = costs == nullptr && HasUsualCost(graph_.nodes[i].stage.name);
    const double estimate =
        usual ? hop.more_cpu_ns
              : kStoreNs + ItemBytes(workload_, graph_, i) * ItemElements() / kCopyBytesPerNs;
    hop.hits = costs != nullptr ? &costs->hits : nullptr;
    if (costs == nullptr || costs->items.empty()) hop.more_cpu_ns = estimate;
    if (costs == nullptr || costs->hits.empty()) hop.hit_cpu_ns = estimate;
    if (stored_first_) {
      hop.kind = Hop::Kind::kWork;
      hop.costs = hop.hits;
      hop.more_cpu_ns = hop.hit_cpu_ns;
    }
    return hop;
  }

  // Items that reach a node in one pass over the data; 0 where no pass ends.
  uint64_t EpochItems(size_t i) const {
    if (!recorded_.elements_per_epoch.has_value()) return 0;
    const bool repeated =
        std::any_of(graph_.nodes.begin() + static_cast<std::ptrdiff_t>(i), graph_.nodes.end(),
                    [](const plan::Node& node) { return plan::As<RepeatSpec>(node) != nullptr; });
    if (!repeated) return 0;
    const auto elements = static_cast<double>(*recorded_.elements_per_epoch);
    const double items = elements * epoch_share_ * kept_ / ItemElements();
    return std::max<uint64_t>(1, static_cast<uint64_t>(std::llround(items)));
  }

  int64_t ValueOf(const Knob& knob, const std::string& path, int64_t otherwise) const {
    if (!knob.automatic) return knob.value;
    const auto tuned = recorded_.tuned.find(path);
    return tuned != recorded_.tuned.end() ? tuned->second : otherwise;
  }

  // What "auto" was seen to settle on; else as many as the cores can feed, and of work that mostly
  // waits as many as the tuner may take.
  // Of a fused node the tuner set the pieces apart: as many as the widest of them had.
  uint64_t WorkersOf(const plan::Node& node) const {
    const Knob& workers = plan::ThreadsOf(node).workers;
    if (!workers.automatic) return static_cast<uint64_t>(workers.value);
    double cpu_ns = 0;
    double off_ns = 0;
    int64_t settled = 0;
    for (const plan::RecordedStage& stage : plan::StagesOf(node)) {
      settled = std::max(settled, ValueOf(Knob::Auto(), stage.name + ".parallelism", 0));
      const StageCosts* costs = CostsOf(stage.name, node.vectorized);
      if (costs == nullptr) continue;
      cpu_ns += costs->mean_cpu_ns;
      off_ns += costs->mean_blocked_ns + costs->mean_io_ns;
    }
    const int64_t most = off_ns > cpu_ns ? plan::MostWorkers(tuner_cores_) : tuner_cores_;
    return static_cast<uint64_t>(settled > 0 ? settled : most);
  }

  // Ends the chain with threads of its own, whose queue is that of the stage `name`.
  void Close(Group group, std::string_view name, bool vectorized = false) {
    const StageCosts* costs = CostsOf(name, vectorized);
    group.handover_ns = kHandoverNs * Calibrated();
    if (costs != nullptr && costs->handover_ns > 0) {
      group.handover_ns = costs->handover_ns * Calibrated() * ItemElements() /
                          (costs->of_batches ? recorded_.trainer.batch : 1);
    }
    group.input = static_cast<int>(network_.groups.size()) - 1;
    group.stage = IndexOf(name);
    group.chain = std::exchange(chain_, {});
    for (const Hop& hop : group.work) {
      network_.workers[hop.stage] = static_cast<double>(group.workers);
    }
    network_.groups.push_back(std::move(group));
  }

  void AddSource(const SourceSpec& source, const plan::Node& node) {
    const std::string& name = node.stage.name;
    Hop hop = Base(node, Hop::Kind::kWork);
    const auto& before = std::get<SourceSpec>(recorded_.spec.stages.front().kind);
    // Of converted data the recorded costs are gone.
    const double kept = source.format == before.format ? 1 : 0;
    hop.more_cpu_ns += (source.busy_us - kept * before.busy_us) * 1e3;
    hop.more_blocked_ns += (source.sleep_us - kept * before.sleep_us) * 1e3;
    if (source.throttle_bytes_per_s > 0) {
      network_.disk_ns_per_byte = 1e9 / static_cast<double>(source.throttle_bytes_per_s);
      const StageCosts* costs = CostsOf(name);
      const double bytes = costs != nullptr ? costs->bytes + kRecordFraming : 0;
      hop.io_bytes = static_cast<uint64_t>(std::llround(bytes));
    } else if (before.throttle_bytes_per_s > 0) {
      hop.io_scale = 0;
    }
    const plan::Threads threads = plan::ThreadsOf(node);
    if (!threads.own) {
      chain_.push_back(hop);
      return;
    }
    Group group;
    group.workers = group.limit = WorkersOf(node);
    group.ordered = threads.ordered;
    group.work.push_back(hop);
    if (!source.files.empty()) LimitReaders(source, group);
    Close(std::move(group), name);
  }

  // Readers have a file of their own at a time: those of the cycle, and for small files the next
  // ones.
  void LimitReaders(const SourceSpec& source, Group& group) const {
    const auto cycle =
        static_cast<uint64_t>(source.cycle_length.automatic ? plan::AutoCycle(Files(), tuner_cores_)
                                                            : source.cycle_length.value);
    const auto lane = static_cast<uint64_t>(plan::LaneCapacity(source));
    const double file = recorded_.elements_per_file;
    const bool small = file > 0 && file <= static_cast<double>(lane);
    if (!small) group.workers = std::min(group.workers, cycle);
    group.limit =
        small ? static_cast<uint64_t>(std::ceil(file)) * (cycle + group.workers) : lane * cycle;
    group.limit = std::max(group.limit, group.workers);
  }

  // Enough, where the run does not tell.
  int64_t Files() const {
    if (!recorded_.elements_per_epoch.has_value() || recorded_.elements_per_file <= 0) {
      return std::numeric_limits<int64_t>::max();
    }
    const auto elements = static_cast<double>(*recorded_.elements_per_epoch);
    return std::max<int64_t>(1, std::llround(elements / recorded_.elements_per_file));
  }

  std::vector<Hop> MapHops(const plan::Node& node) const {
    std::vector<Hop> hops;
    for (const plan::MapPiece& piece : node.pieces) {
      const StageCosts* costs = CostsOf(piece.name, node.vectorized);
      hops.push_back(Base(piece.name, Hop::Kind::kWork, costs));
      ChangeCost(piece.name, node.vectorized, hops.back());
    }
    return hops;
  }

  void AddMap(const plan::Node& node) {
    std::vector<Hop> pieces = MapHops(node);
    const plan::Threads threads = plan::ThreadsOf(node);
    if (!threads.own) {
      chain_.insert(chain_.end(), pieces.begin(), pieces.end());
      return;
    }
    const std::string& name = node.pieces.back().name;
    Group group;
    group.workers = group.limit = WorkersOf(node);
    group.ordered = threads.ordered;
    group.work = std::move(pieces);
    Close(std::move(group), name, node.vectorized);
  }

  static bool MakesInPlace(const plan::MapPiece& last) {
    return !last.ops.empty() && WritesInPlace(last.ops.back().call);
  }

  void AddBatch(const plan::Node& node) {
    std::vector<Hop> pieces = MapHops(node);
    Hop hop = Base(node, Hop::Kind::kBatch);
    hop.size = batch_;
    // Samples are made where they stay.
    if (!pieces.empty() && MakesInPlace(node.pieces.back())) hop.costs = nullptr;
    batched_ = true;
    if (!plan::ThreadsOf(node).own) {
      chain_.insert(chain_.end(), pieces.begin(), pieces.end());
      chain_.push_back(hop);
      return;
    }
    Group group;
    group.workers = group.limit = WorkersOf(node);
    group.job = batch_;
    for (Hop& piece : pieces) piece.times = batch_;
    group.work = std::move(pieces);
    hop.kind = Hop::Kind::kWork;
    group.work.push_back(hop);
    Close(std::move(group), node.stage.name);
  }

  void AddPrefetch(const plan::Node& node) {
    const plan::Threads threads = plan::ThreadsOf(node);
    if (!threads.own) return;
    Group group;
    group.limit = static_cast<uint64_t>(
        ValueOf(threads.capacity, node.stage.name + ".buffer_size", kTunedBuffer));
    Close(std::move(group), node.stage.name);
  }

  const Workload& workload_;
  const Ends ends_;
  const Recorded& recorded_;
  const plan::Graph& graph_;
  const int64_t tuner_cores_;
  const uint64_t batch_;
  const double epoch_share_;
  Network network_;
  std::vector<Hop> chain_;
  bool batched_ = false;
  bool stored_first_ = false;
  double kept_ = 1;  // of the source's elements, that come so far
};

}  // namespace

double UsableCores(const Recorded& recorded) {
  const double cores = std::max(1.0, recorded.cores);
  return std::max(0.1, recorded.cores - recorded.other_cores) * (1 - kSharing * (1 - 1 / cores));
}

Result<Network> BuildNetwork(const Workload& workload, uint64_t batches, Ends ends) {
  STALLSCOPE_ASSIGN_OR_RETURN(const plan::Graph graph, plan::Lower(workload.spec));
  return NetworkBuilder(workload, graph, batches, ends).Build();
}

}  // namespace stallscope::replay
