#include <nlohmann/json.hpp>

#include "analyzer/base/escape.h"
#include "analyzer/cli/info.h"
#include "analyzer/report/trust.h"

namespace stallscope::cli {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json TextOrNull(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json Host(const trace::HostInfo& host) {
  return {{"name", host.name},
          {"kernel", host.kernel},
          {"cpu", host.cpu},
          {"cores_online", host.cores_online},
          {"cores_allowed", host.cores_allowed},
          {"cgroup_cores", host.cgroup_cores},
          {"memory_bytes", host.memory_bytes},
          {"memory_limit_bytes", host.memory_limit_bytes}};
}

Json Stages(const model::Run& run) {
  Json stages = Json::array();
  for (const trace::StageInfo& stage : run.stages) {
    Json inputs = Json::array();
    for (StageId input : stage.inputs) inputs.push_back(run.NameOf(input));
    stages.push_back({{"name", stage.name},
                      {"kind", stage.kind},
                      {"inputs", inputs},
                      {"queue", TextOrNull(std::string(run.NameOf(stage.queue)))},
                      {"workers", stage.workers},
                      {"ordered", stage.ordered}});
  }
  return stages;
}

Json Tracks(const model::Run& run) {
  Json tracks = Json::array();
  for (const model::Track& track : run.tracks) {
    Json row{{"name", track.info.name},
             {"stage", TextOrNull(std::string(run.NameOf(track.info.stage)))},
             {"spans", track.spans.size()}};
    if (track.tally) {
      row["emitted"] = track.tally->emitted;
      row["stored"] = track.tally->stored;
      row["dropped"] = track.tally->dropped;
    }
    tracks.push_back(std::move(row));
  }
  return tracks;
}

Json Queues(const model::Run& run) {
  Json queues = Json::array();
  for (const model::Queue& queue : run.queues) {
    queues.push_back(
        {{"name", queue.info.name}, {"capacity", queue.info.capacity}, {"lock", queue.info.lock}});
  }
  return queues;
}

Json Counters(const model::Run& run) {
  Json counters = Json::array();
  for (const trace::CounterInfo& counter : run.counters) {
    counters.push_back({{"name", counter.name}, {"unit", counter.unit}});
  }
  return counters;
}

Json Damage(const model::DataQuality& quality) {
  Json ranges = Json::array();
  for (const trace::DamagedRange& range : quality.damaged_ranges) {
    ranges.push_back(
        {{"offset", range.offset}, {"length", range.length}, {"reason", range.reason}});
  }
  return ranges;
}

}  // namespace

std::string InfoJson(const model::Run& run) {
  const model::DataQuality& quality = run.quality;
  const model::TimeRange window = model::WindowOf(run);
  const Json info{
      {"schema", "stallscope.info/1"},
      {"trace", run.path},
      {"format", run.format},
      {"version", run.format_version},
      {"trust", report::TrustLine(run)},
      {"complete", quality.Complete()},
      {"sealed", quality.sealed},
      {"spans", model::CountSpans(run)},
      {"steps", run.rows.steps.size()},
      {"tracks", run.tracks.size()},
      {"emitted", OrNull(quality.emitted)},
      {"stored", OrNull(quality.stored)},
      {"dropped", quality.dropped},
      {"damaged_bytes", quality.damaged_bytes},
      {"damage", Damage(quality)},
      {"missing_frames", quality.missing_frames},
      {"cut_at", OrNull(quality.cut_at)},
      {"frames", quality.frames},
      {"digest", TextOrNull(run.info.digest)},
      {"name", run.info.name},
      {"tool", run.info.tool},
      {"command_line", run.info.command_line},
      {"start_ns", window.start_ns},
      {"duration_ns", window.end_ns - window.start_ns},
      {"host", Host(run.info.host)},
      {"device",
       {{"kind", TextOrNull(run.info.device.kind)}, {"name", TextOrNull(run.info.device.name)}}},
      {"stages", Stages(run)},
      {"queues", Queues(run)},
      {"track_list", Tracks(run)},
      {"counters", Counters(run)},
      {"warnings", quality.warnings}};
  return JsonText(info) + "\n";
}

}  // namespace stallscope::cli
