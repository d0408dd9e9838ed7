#include "analyzer/model/trainers.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "analyzer/base/saturated.h"
#include "analyzer/model/job_spec.h"
#include "analyzer/model/row_fields.h"

namespace stallscope::model {
namespace {

// More than one machine trains with. Past them, trainers that work at the same time share a rank.
constexpr size_t kMostRanks = 256;
constexpr size_t kMostParents = 64;

using Ranks = std::map<Trainer, uint32_t>;  // from 0

// Which of them began first is chance. They are numbered in the order of their launcher's ranks, if
// it told each of another one; else in the order of their processes' starts.
void NumberRanks(const Run& run, Ranks& lanes) {
  std::vector<uint32_t> order;
  std::map<uint32_t, std::optional<uint32_t>> stated;
  for (const auto& [trainer, lane] : lanes) {
    const auto rank =
        trainer.first.known() ? run.processes[trainer.first.value].rank : std::nullopt;
    if (stated.try_emplace(lane, rank).second) order.push_back(lane);
  }
  std::set<uint32_t> different;
  for (const auto& [lane, rank] : stated) {
    if (rank) different.insert(*rank);
  }
  if (different.size() == order.size()) {
    std::sort(order.begin(), order.end(),
              [&](uint32_t a, uint32_t b) { return stated[a] < stated[b]; });
  }
  std::map<uint32_t, uint32_t> numbers;
  for (const uint32_t lane : order)
    numbers.try_emplace(lane, static_cast<uint32_t>(numbers.size()));
  for (auto& [trainer, lane] : lanes) lane = numbers[lane];
}

// Empty with fewer than two trainers, or if the trace does not say whose its steps are.
Ranks RanksOfTrainers(const Run& run) {
  std::map<Trainer, TimeRange> extents;
  for (const trace::Step& step : run.rows.steps) {
    if (!step.track.known()) return {};
    const int64_t end_ns = std::max({step.requested_ns, step.received_ns, step.device_done_ns});
    const auto [extent, is_new] =
        extents.try_emplace(TrainerOf(run, step), TimeRange{step.requested_ns, end_ns});
    extent->second.start_ns = std::min(extent->second.start_ns, step.requested_ns);
    extent->second.end_ns = std::max(extent->second.end_ns, end_ns);
  }
  if (extents.size() < 2) return {};
  std::vector<std::pair<Trainer, TimeRange>> by_start(extents.begin(), extents.end());
  std::stable_sort(by_start.begin(), by_start.end(), [](const auto& a, const auto& b) {
    return a.second.start_ns < b.second.start_ns;
  });
  Ranks lanes;
  std::multimap<int64_t, uint32_t> free;  // when the lane's last trainer ends
  for (const auto& [trainer, extent] : by_start) {
    auto lane = static_cast<uint32_t>(free.size());
    int64_t end_ns = extent.end_ns;
    if (!free.empty() && (free.begin()->first <= extent.start_ns || free.size() == kMostRanks)) {
      lane = free.begin()->second;
      end_ns = std::max(end_ns, free.begin()->first);
      free.erase(free.begin());
    }
    free.emplace(end_ns, lane);
    lanes[trainer] = lane;
  }
  NumberRanks(run, lanes);
  return lanes;
}

// Of a process, or the nearest one above it that trains.
class ProcessRanks {
 public:
  ProcessRanks(const Run& run, const Ranks& ranks) : run_(run) {
    for (const auto& [trainer, rank] : ranks) ranks_.try_emplace(trainer.first, rank);
    for (const trace::ProcessInfo& process : run.processes) by_pid_[process.pid] = process.id;
  }

  std::optional<uint32_t> Of(ProcessId process) const {
    for (size_t steps = 0; process.known() && steps < kMostParents; ++steps) {
      const auto found = ranks_.find(process);
      if (found != ranks_.end()) return found->second;
      const auto parent = by_pid_.find(run_.processes[process.value].parent);
      process = parent == by_pid_.end() ? ProcessId::None() : parent->second;
    }
    return std::nullopt;
  }

 private:
  const Run& run_;
  std::map<ProcessId, uint32_t> ranks_;
  std::map<uint64_t, ProcessId> by_pid_;
};

// By requests, numbered within each rank; `step_ranks` if there are several.
void OrderSteps(const Ranks& ranks, uint32_t count, Run& run) {
  std::vector<trace::Step>& steps = run.rows.steps;
  std::vector<std::pair<uint32_t, trace::Step>> order;
  order.reserve(steps.size());
  for (const trace::Step& step : steps) order.emplace_back(ranks.at(TrainerOf(run, step)), step);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first, a.second.requested_ns) < std::pair(b.first, b.second.requested_ns);
  });
  for (size_t i = 0; i < order.size(); ++i) {
    const bool first = i == 0 || order[i].first != order[i - 1].first;
    order[i].second.index = first ? 0 : order[i - 1].second.index + 1;
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second.index < b.second.index; });
  for (size_t i = 0; i < order.size(); ++i) {
    steps[i] = order[i].second;
    if (count > 1) run.step_ranks.push_back(run.info.rank + order[i].first);
  }
}

// That of the steps that it fed; else of its process.
void RankLoaders(const Ranks& ranks, const ProcessRanks& processes, Run& run) {
  for (Loader& loader : run.loaders) {
    loader.rank = run.info.rank + processes.Of(loader.info.process).value_or(0);
  }
  const auto others = OtherBatches(run);
  std::vector<bool> fed(run.loaders.size());
  const auto feeds = [&](ItemId batch, const trace::Step& step) {
    const uint64_t loader = LoaderOfBatch(batch);
    if (loader >= run.loaders.size() || fed[loader]) return;
    fed[loader] = true;
    run.loaders[loader].rank = run.info.rank + ranks.at(TrainerOf(run, step));
  };
  for (const trace::Step& step : run.rows.steps) {
    feeds(step.batch, step);
    const auto more = others.find(step.batch.value);
    if (more == others.end()) continue;
    for (const ItemId batch : more->second) feeds(batch, step);
  }
}

void RankTracks(const Ranks& ranks, const ProcessRanks& processes, Run& run) {
  const auto loader_of = [&](StageId stage) -> const Loader* {
    const LoaderId loader = stage.known() ? run.stages[stage.value].loader : LoaderId::None();
    return loader.known() ? &run.loaders[loader.value] : nullptr;
  };
  for (Track& track : run.tracks) {
    const auto trains = ranks.find({track.info.process, track.info.id});
    if (trains != ranks.end()) {
      track.rank = run.info.rank + trains->second;
    } else if (const Loader* const loader = loader_of(track.info.stage)) {
      track.rank = loader->rank;
    } else {
      track.rank = run.info.rank + processes.Of(track.info.process).value_or(0);
    }
  }
  for (const trace::StageInfo& stage : run.stages) {
    const Loader* const loader = loader_of(stage.id);
    if (loader != nullptr && stage.queue.known()) run.queues[stage.queue.value].rank = loader->rank;
  }
}

// The n-th loader that a trainer constructs in a place of the code is the n-th one there of each
// other trainer, if their settings agree. Of those that do, the one of the lowest rank stands for
// all: which was recorded first is chance.
void MatchLoaders(Run& run) {
  using Place = std::tuple<std::string, std::string, std::string, uint32_t,
                           std::map<std::string, std::string>>;
  std::map<std::tuple<Place, ProcessId, uint32_t>, size_t> seen;
  std::map<std::pair<Place, size_t>, LoaderId> first;
  std::vector<Loader*> by_rank;
  for (Loader& loader : run.loaders) by_rank.push_back(&loader);
  std::stable_sort(by_rank.begin(), by_rank.end(),
                   [](const Loader* a, const Loader* b) { return a->rank < b->rank; });
  for (Loader* const loader : by_rank) {
    const trace::LoaderInfo& info = loader->info;
    if (info.file.empty()) continue;
    auto settings = SettingsOf(info);
    settings.erase("gradient_accumulation");  // it is noticed after some steps
    const Place place{info.kind, info.dataset, info.file, info.line, std::move(settings)};
    const size_t nth = seen[{place, info.process, loader->rank}]++;
    const auto [known, is_new] = first.try_emplace({place, nth}, info.id);
    if (!is_new) loader->same_as = known->second;
  }
}

// Each stage's id from now on: of one that stands for it, or its own.
std::vector<StageId> MatchStages(Run& run) {
  std::vector<StageId> stands(run.stages.size());
  // By stage and rank: trainers of one rank work one after another.
  std::map<StageId, std::map<uint32_t, uint32_t>> workers;
  for (const trace::StageInfo& stage : run.stages) {
    StageId& to = stands[stage.id.value] = stage.id;
    if (!stage.loader.known()) continue;
    const Loader& loader = run.loaders[stage.loader.value];
    if (loader.same_as.known()) {
      const auto same =
          std::find_if(run.stages.begin(), run.stages.end(), [&](const trace::StageInfo& other) {
            return other.loader == loader.same_as && other.name == stage.name &&
                   other.kind == stage.kind;
          });
      if (same != run.stages.end()) to = same->id;
    }
    uint32_t& most = workers[to][loader.rank];
    most = std::max(most, stage.workers);
  }
  for (const auto& [stage, by_rank] : workers) {
    uint32_t& sum = run.stages[stage.value].workers = 0;
    for (const auto& [rank, count] : by_rank) sum = SaturatedSum(sum, count);
  }
  return stands;
}

// Removes the stages that others stand for.
void MergeStages(uint32_t ranks, Run& run) {
  const std::vector<StageId> stands = MatchStages(run);
  std::vector<StageId> numbers(stands.size());
  std::vector<trace::StageInfo> kept;
  for (trace::StageInfo& stage : run.stages) {
    if (stands[stage.id.value] != stage.id) continue;
    numbers[stage.id.value] = StageId{static_cast<uint32_t>(kept.size())};
    kept.push_back(std::move(stage));
  }
  const auto move = [&](StageId& id) {
    if (id.known()) id = numbers[stands[id.value].value];
  };
  for (trace::StageInfo& stage : kept) {
    move(stage.id);
    std::vector<StageId> inputs;
    for (StageId input : stage.inputs) {
      move(input);
      const bool again = std::find(inputs.begin(), inputs.end(), input) != inputs.end();
      if (!again && input != stage.id) inputs.push_back(input);
    }
    stage.inputs = std::move(inputs);
    if (IsTrainer(stage)) stage.workers = std::max(stage.workers, ranks);
  }
  run.stages = std::move(kept);
  for (Queue& queue : run.queues) move(queue.producer);
  for (Track& track : run.tracks) move(track.info.stage);
  for (trace::SpanClass& span_class : run.span_classes) move(span_class.stage);
  trace::ForEachTable(run.rows, [&](int, auto& table) {
    for (auto& row : table) {
      ForEachField(row, [&](auto& field) {
        if constexpr (std::is_same_v<std::remove_reference_t<decltype(field)>, StageId>) {
          move(field);
        }
      });
    }
  });
}

}  // namespace

Trainer TrainerOf(const Run& run, const trace::Step& step) {
  if (!IsJob(run) || !step.track.known()) return {};
  const ProcessId process = run.tracks[step.track.value].info.process;
  return {process, run.imported() ? TrackId::None() : step.track};
}

void SeparateTrainers(Run& run) {
  if (!IsJob(run)) return;
  const Ranks ranks = RanksOfTrainers(run);
  if (ranks.empty()) return;
  uint32_t count = 0;
  for (const auto& [trainer, rank] : ranks) count = std::max(count, rank + 1);
  const ProcessRanks processes(run, ranks);
  OrderSteps(ranks, count, run);
  RankLoaders(ranks, processes, run);
  RankTracks(ranks, processes, run);
  MatchLoaders(run);
  MergeStages(count, run);
  run.info.world_size = std::max(run.info.world_size, count > 1 ? run.info.rank + count : 0);
}

LoaderId LoaderOf(const Run& run, StageId stage, ProcessId process) {
  const LoaderId shared = stage.known() ? run.stages[stage.value].loader : LoaderId::None();
  if (!shared.known()) return shared;
  for (size_t steps = 0; process.known() && steps < kMostParents; ++steps) {
    for (const Loader& loader : run.loaders) {
      const bool same = loader.info.id == shared || loader.same_as == shared;
      if (same && loader.info.process == process) return loader.info.id;
    }
    const uint64_t parent = run.processes[process.value].parent;
    const auto above = std::find_if(run.processes.begin(), run.processes.end(),
                                    [&](const auto& each) { return each.pid == parent; });
    process = above == run.processes.end() ? ProcessId::None() : above->id;
  }
  return shared;
}

}  // namespace stallscope::model
