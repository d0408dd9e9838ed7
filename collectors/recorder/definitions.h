// Everything in a recording that has a name, and what the file does not contain yet. Locks inside:
// any thread may call.
#ifndef STALLSCOPE_COLLECTORS_RECORDER_DEFINITIONS_H_
#define STALLSCOPE_COLLECTORS_RECORDER_DEFINITIONS_H_

#include <functional>
#include <mutex>
#include <string>
#include <string_view>
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
  void Redefine(const trace::StageInfo& stage);
  QueueId Define(trace::QueueInfo queue);
  TrackId Define(trace::TrackInfo track);
  CounterId Define(trace::CounterInfo counter);
  trace::StringId Define(std::string_view text);
  void UpdateRun(const std::function<void(trace::RunInfo&)>& change);

  // What has not been written yet. Taking it marks it as written; MarkAllNew() takes that back.
  trace::Definitions TakeNew();
  void MarkAllNew();

  std::string StageName(StageId id) const override;
  std::string QueueName(QueueId id) const override;
  std::string TrackName(TrackId id) const override;
  std::string CounterName(CounterId id) const override;
  std::string String(trace::StringId id) const override;

 private:
  mutable std::mutex mutex_;
  trace::RunInfo run_;
  bool run_is_new_ = true;
  std::vector<trace::StageInfo> stages_;
  std::vector<trace::QueueInfo> queues_;
  std::vector<trace::TrackInfo> tracks_;
  std::vector<trace::CounterInfo> counters_;
  // How many of each the file contains; redefined stages have a list of their own.
  size_t known_stages_ = 0;
  size_t known_queues_ = 0;
  size_t known_tracks_ = 0;
  size_t known_counters_ = 0;
  std::vector<StageId> redefined_;
  std::vector<std::string> strings_;
  std::unordered_map<std::string, trace::StringId> string_ids_;
};

}  // namespace stallscope::recorder

#endif  // STALLSCOPE_COLLECTORS_RECORDER_DEFINITIONS_H_
