#include "collectors/recorder/definitions.h"

#include "analyzer/trace/limits.h"

namespace stallscope::recorder {
namespace {

template <class Info, class Id>
Id Append(Info info, Id Info::*id, size_t limit, std::vector<Info>& table) {
  if (table.size() >= limit) return Id::None();
  info.*id = Id{static_cast<uint32_t>(table.size())};
  table.push_back(std::move(info));
  return table.back().*id;
}

template <class Info, class Id>
std::string NameIn(const std::vector<Info>& table, Id id) {
  return id.value < table.size() ? table[id.value].name : std::string();
}

template <class Info>
std::vector<Info> TakeFrom(const std::vector<Info>& table, size_t& known) {
  std::vector<Info> fresh(table.begin() + static_cast<std::ptrdiff_t>(known), table.end());
  known = table.size();
  return fresh;
}

}  // namespace

StageId DefinitionTable::Define(trace::StageInfo stage) {
  const std::lock_guard lock(mutex_);
  return Append(std::move(stage), &trace::StageInfo::id, trace::kMaxStages, stages_);
}

void DefinitionTable::Redefine(const trace::StageInfo& stage) {
  const std::lock_guard lock(mutex_);
  if (stage.id.value >= stages_.size()) return;
  stages_[stage.id.value] = stage;
  redefined_.push_back(stage.id);
}

QueueId DefinitionTable::Define(trace::QueueInfo queue) {
  const std::lock_guard lock(mutex_);
  return Append(std::move(queue), &trace::QueueInfo::id, trace::kMaxQueues, queues_);
}

TrackId DefinitionTable::Define(trace::TrackInfo track) {
  const std::lock_guard lock(mutex_);
  return Append(std::move(track), &trace::TrackInfo::id, trace::kMaxTracks, tracks_);
}

CounterId DefinitionTable::Define(trace::CounterInfo counter) {
  const std::lock_guard lock(mutex_);
  return Append(std::move(counter), &trace::CounterInfo::id, trace::kMaxCounters, counters_);
}

trace::StringId DefinitionTable::Define(std::string_view text) {
  const std::lock_guard lock(mutex_);
  const auto found = string_ids_.find(std::string(text));
  if (found != string_ids_.end()) return found->second;
  if (strings_.size() >= trace::kMaxStrings) return trace::StringId::None();
  const trace::StringId id{static_cast<uint32_t>(strings_.size())};
  strings_.emplace_back(text);
  string_ids_.emplace(text, id);
  return id;
}

void DefinitionTable::UpdateRun(const std::function<void(trace::RunInfo&)>& change) {
  const std::lock_guard lock(mutex_);
  change(run_);
  run_is_new_ = true;
}

trace::Definitions DefinitionTable::TakeNew() {
  const std::lock_guard lock(mutex_);
  trace::Definitions fresh;
  if (run_is_new_) fresh.run = run_;
  run_is_new_ = false;
  const size_t known_before = known_stages_;
  fresh.stages = TakeFrom(stages_, known_stages_);
  for (StageId id : redefined_) {
    if (id.value < known_before) fresh.stages.push_back(stages_[id.value]);
  }
  redefined_.clear();
  fresh.queues = TakeFrom(queues_, known_queues_);
  fresh.tracks = TakeFrom(tracks_, known_tracks_);
  fresh.counters = TakeFrom(counters_, known_counters_);
  return fresh;
}

void DefinitionTable::MarkAllNew() {
  const std::lock_guard lock(mutex_);
  run_is_new_ = true;
  known_stages_ = known_queues_ = known_tracks_ = known_counters_ = 0;
}

std::string DefinitionTable::StageName(StageId id) const {
  const std::lock_guard lock(mutex_);
  return NameIn(stages_, id);
}
std::string DefinitionTable::QueueName(QueueId id) const {
  const std::lock_guard lock(mutex_);
  return NameIn(queues_, id);
}
std::string DefinitionTable::TrackName(TrackId id) const {
  const std::lock_guard lock(mutex_);
  return NameIn(tracks_, id);
}
std::string DefinitionTable::CounterName(CounterId id) const {
  const std::lock_guard lock(mutex_);
  return NameIn(counters_, id);
}
std::string DefinitionTable::String(trace::StringId id) const {
  const std::lock_guard lock(mutex_);
  return id.value < strings_.size() ? strings_[id.value] : std::string();
}

}  // namespace stallscope::recorder
