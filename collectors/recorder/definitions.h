// Everything in a recording that has a name, and what the file does not contain yet. Locks inside:
// any thread may call.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "analyzer/trace/chunk.h"
#include "analyzer/trace/events.h"

namespace stallscope::recorder {

class DefinitionTable : public trace::NameSource {
 public:
  explicit DefinitionTable(trace::RunInfo run) : run_(std::move(run)) {}

  // Beyond the format's limits the id is None: events about it are kept, nameless.
  StageId Define(trace::StageInfo stage);
  QueueId Define(trace::QueueInfo queue);
  TrackId Define(trace::TrackInfo track);
  CounterId Define(trace::CounterInfo counter);
  ProcessId Define(trace::ProcessInfo process);
  LoaderId Define(trace::LoaderInfo loader);
  trace::StringId Define(std::string_view text);
  // The name under which spans of an op are recorded: its own, and where another op has that, with
  // its place.
  trace::StringId Define(const trace::OpInfo& op);
  // Adds to the known lines of that function.
  void Add(const trace::CodeLines& lines);
  // Replaces the definition with the same id; without one, nothing happens.
  void Redefine(const trace::StageInfo& stage);
  void Redefine(const trace::QueueInfo& queue);
  void Redefine(const trace::TrackInfo& track);
  void Redefine(const trace::ProcessInfo& process);
  void Redefine(const trace::LoaderInfo& loader);
  void UpdateRun(const std::function<void(trace::RunInfo&)>& change);

  // What has not been written yet. Taking it marks it as written; MarkAllNew() takes that back.
  trace::Definitions TakeNew();
  void MarkAllNew();
  // The texts from the `known`-th on: for a file that has each once.
  std::vector<std::string> TextsFrom(size_t known) const;

  std::string StageName(StageId id) const override;
  std::string QueueName(QueueId id) const override;
  std::string TrackName(TrackId id) const override;
  std::string CounterName(CounterId id) const override;
  std::string String(trace::StringId id) const override;

 private:
  template <class Info>
  struct Table {
    std::vector<Info> rows;
    size_t known = 0;               // how many the file contains
    std::vector<size_t> redefined;  // of those
    std::vector<Info> TakeNew();
    void MarkAllNew() { known = 0; }
    void Redefine(const Info& info);
  };
  template <class Info>
  void RedefineIn(Table<Info>& table, const Info& info);

  mutable std::mutex mutex_;
  trace::RunInfo run_;
  bool run_is_new_ = true;
  Table<trace::StageInfo> stages_;
  Table<trace::QueueInfo> queues_;
  Table<trace::TrackInfo> tracks_;
  Table<trace::CounterInfo> counters_;
  Table<trace::ProcessInfo> processes_;
  Table<trace::LoaderInfo> loaders_;
  Table<trace::OpInfo> ops_;
  std::vector<trace::CodeLines> code_lines_;
  std::vector<bool> code_lines_are_new_;  // of these
  std::vector<std::string> strings_;
  std::unordered_map<std::string, trace::StringId> string_ids_;
  std::map<std::tuple<std::string, std::string, uint32_t>, trace::StringId> op_names_;
};

}  // namespace stallscope::recorder
