#include "collectors/recorder/definitions.h"

#include <algorithm>

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

}  // namespace

template <class Info>
std::vector<Info> DefinitionTable::Table<Info>::TakeNew() {
  std::vector<Info> fresh(rows.begin() + static_cast<std::ptrdiff_t>(known), rows.end());
  for (size_t row : redefined) {
    if (row < known) fresh.push_back(rows[row]);
  }
  redefined.clear();
  known = rows.size();
  return fresh;
}

template <class Info>
void DefinitionTable::Table<Info>::Redefine(const Info& info) {
  if (info.id.value >= rows.size()) return;
  rows[info.id.value] = info;
  redefined.push_back(info.id.value);
}

StageId DefinitionTable::Define(trace::StageInfo stage) {
  const std::lock_guard lock(mutex_);
  return Append(std::move(stage), &trace::StageInfo::id, trace::kMaxStages, stages_.rows);
}
QueueId DefinitionTable::Define(trace::QueueInfo queue) {
  const std::lock_guard lock(mutex_);
  return Append(std::move(queue), &trace::QueueInfo::id, trace::kMaxQueues, queues_.rows);
}
TrackId DefinitionTable::Define(trace::TrackInfo track) {
  const std::lock_guard lock(mutex_);
  return Append(std::move(track), &trace::TrackInfo::id, trace::kMaxTracks, tracks_.rows);
}
CounterId DefinitionTable::Define(trace::CounterInfo counter) {
  const std::lock_guard lock(mutex_);
  return Append(std::move(counter), &trace::CounterInfo::id, trace::kMaxCounters, counters_.rows);
}
ProcessId DefinitionTable::Define(trace::ProcessInfo process) {
  const std::lock_guard lock(mutex_);
  return Append(std::move(process), &trace::ProcessInfo::id, trace::kMaxProcesses, processes_.rows);
}
LoaderId DefinitionTable::Define(trace::LoaderInfo loader) {
  const std::lock_guard lock(mutex_);
  return Append(std::move(loader), &trace::LoaderInfo::id, trace::kMaxLoaders, loaders_.rows);
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

trace::StringId DefinitionTable::Define(const trace::OpInfo& op) {
  trace::OpInfo named = op;
  {
    const std::lock_guard lock(mutex_);
    const auto known = op_names_.find({op.name, op.file, op.line});
    if (known != op_names_.end()) return known->second;
    const auto taken = [&](const trace::OpInfo& other) { return other.name == op.name; };
    if (std::any_of(ops_.rows.begin(), ops_.rows.end(), taken)) {
      named.name +=
          " (" + op.file.substr(op.file.rfind('/') + 1) + ":" + std::to_string(op.line) + ")";
    }
    if (ops_.rows.size() < trace::kMaxOps) ops_.rows.push_back(named);
  }
  const trace::StringId id = Define(named.name);
  const std::lock_guard lock(mutex_);
  if (op_names_.size() < trace::kMaxOps) op_names_[{op.name, op.file, op.line}] = id;
  return id;
}

void DefinitionTable::Add(const trace::CodeLines& lines) {
  const std::lock_guard lock(mutex_);
  auto known = std::find_if(code_lines_.begin(), code_lines_.end(), [&](const auto& other) {
    return other.first_line == lines.first_line && other.file == lines.file;
  });
  if (known == code_lines_.end()) {
    if (code_lines_.size() >= trace::kMaxCodeLines) return;
    code_lines_.push_back({lines.file, lines.first_line, {}});
    code_lines_are_new_.push_back(true);
    known = code_lines_.end() - 1;
  }
  code_lines_are_new_[static_cast<size_t>(known - code_lines_.begin())] = true;
  trace::Merge(lines, *known);
}

template <class Info>
void DefinitionTable::RedefineIn(Table<Info>& table, const Info& info) {
  const std::lock_guard lock(mutex_);
  table.Redefine(info);
}
void DefinitionTable::Redefine(const trace::StageInfo& stage) { RedefineIn(stages_, stage); }
void DefinitionTable::Redefine(const trace::QueueInfo& queue) { RedefineIn(queues_, queue); }
void DefinitionTable::Redefine(const trace::TrackInfo& track) { RedefineIn(tracks_, track); }
void DefinitionTable::Redefine(const trace::ProcessInfo& process) {
  RedefineIn(processes_, process);
}
void DefinitionTable::Redefine(const trace::LoaderInfo& loader) { RedefineIn(loaders_, loader); }

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
  fresh.stages = stages_.TakeNew();
  fresh.queues = queues_.TakeNew();
  fresh.tracks = tracks_.TakeNew();
  fresh.counters = counters_.TakeNew();
  fresh.processes = processes_.TakeNew();
  fresh.loaders = loaders_.TakeNew();
  fresh.ops = ops_.TakeNew();
  for (size_t i = 0; i < code_lines_.size(); ++i) {
    if (code_lines_are_new_[i]) fresh.code_lines.push_back(code_lines_[i]);
    code_lines_are_new_[i] = false;
  }
  return fresh;
}

void DefinitionTable::MarkAllNew() {
  const std::lock_guard lock(mutex_);
  run_is_new_ = true;
  stages_.MarkAllNew();
  queues_.MarkAllNew();
  tracks_.MarkAllNew();
  counters_.MarkAllNew();
  processes_.MarkAllNew();
  loaders_.MarkAllNew();
  ops_.MarkAllNew();
  code_lines_are_new_.assign(code_lines_.size(), true);
}

std::vector<std::string> DefinitionTable::TextsFrom(size_t known) const {
  const std::lock_guard lock(mutex_);
  if (known >= strings_.size()) return {};
  return {strings_.begin() + static_cast<std::ptrdiff_t>(known), strings_.end()};
}

std::string DefinitionTable::StageName(StageId id) const {
  const std::lock_guard lock(mutex_);
  return NameIn(stages_.rows, id);
}
std::string DefinitionTable::QueueName(QueueId id) const {
  const std::lock_guard lock(mutex_);
  return NameIn(queues_.rows, id);
}
std::string DefinitionTable::TrackName(TrackId id) const {
  const std::lock_guard lock(mutex_);
  return NameIn(tracks_.rows, id);
}
std::string DefinitionTable::CounterName(CounterId id) const {
  const std::lock_guard lock(mutex_);
  return NameIn(counters_.rows, id);
}
std::string DefinitionTable::String(trace::StringId id) const {
  const std::lock_guard lock(mutex_);
  return id.value < strings_.size() ? strings_[id.value] : std::string();
}

}  // namespace stallscope::recorder
