#include "gui/viewmodel/run_facts.h"

#include <fmt/format.h>

#include "analyzer/base/escape.h"
#include "analyzer/export/words.h"
#include "analyzer/model/job_spec.h"
#include "analyzer/report/job_section.h"
#include "analyzer/spec/spec_json.h"
#include "analyzer/words/words.h"
#include "gui/viewmodel/phrases.h"

namespace stallscope::viewmodel {
namespace {

class Group {
 public:
  explicit Group(std::string title) { group_.title = std::move(title); }
  void Add(const std::string& name, const std::string& text, const std::string& tooltip = {}) {
    if (!text.empty()) group_.facts.push_back({name, text, tooltip});
  }
  void AddBytes(const std::string& name, uint64_t bytes) {
    if (bytes > 0) Add(name, words::Bytes(bytes), words::Grouped(bytes) + " bytes");
  }
  void Into(std::vector<FactGroup>& groups) {
    if (!group_.facts.empty()) groups.push_back(std::move(group_));
  }

 private:
  FactGroup group_;
};

void AddTrace(const session::OpenRun& open, std::vector<FactGroup>& groups) {
  const model::Run& run = *open.run;
  Group trace("Trace");
  trace.Add("file", run.path);
  trace.Add("format", run.format + (run.format_version.empty() ? "" : " " + run.format_version));
  trace.AddBytes("size", open.bytes);
  trace.Add("name", run.info.name);
  trace.Add("recorded by", run.info.tool);
  trace.Add("spans", words::Grouped(model::CountSpans(run)));
  trace.Add("steps", report::StepsFact(run));
  trace.Add("digest", run.info.digest);
  trace.Add("data", run.info.data_fingerprint);
  const model::TimeRange window = model::WindowOf(run);
  trace.Add("duration", words::Duration(window.end_ns - window.start_ns),
            words::ExactNs(window.end_ns - window.start_ns));
  if (run.info.world_size > 1) {
    trace.Add("rank", fmt::format("{} of {}", run.info.rank, run.info.world_size));
  }
  trace.Into(groups);
}

void AddHost(const model::Run& run, std::vector<FactGroup>& groups) {
  const trace::HostInfo& info = run.info.host;
  Group host("Host");
  host.Add("name", info.name);
  host.Add("kernel", info.kernel);
  host.Add("CPU", info.cpu);
  if (info.cores_online > 0) host.Add("cores", words::Grouped(info.cores_online));
  if (info.cores_allowed > 0) host.Add("allowed cores", words::Grouped(info.cores_allowed));
  if (info.cgroup_cores > 0) host.Add("quota", words::Number(info.cgroup_cores) + " cores");
  host.AddBytes("memory", info.memory_bytes);
  host.AddBytes("memory limit", info.memory_limit_bytes);
  host.Into(groups);
  Group device("Device");
  device.Add("kind", run.info.device.kind);
  device.Add("name", run.info.device.name);
  device.AddBytes("memory", run.info.device.memory_bytes);
  device.Add("driver", run.info.device.driver);
  device.Into(groups);
}

void AddLosses(const model::Run& run, std::vector<FactGroup>& groups) {
  const model::DataQuality& quality = run.quality;
  Group lost("Losses");
  lost.Add("ended cleanly", quality.sealed ? "yes" : "no");
  if (quality.emitted) lost.Add("events", words::Grouped(*quality.emitted));
  lost.Add("dropped", words::Grouped(quality.dropped));
  if (quality.damaged_bytes > 0) lost.AddBytes("damaged", quality.damaged_bytes);
  if (quality.missing_frames > 0)
    lost.Add("missing frames", words::Grouped(quality.missing_frames));
  if (quality.left_out > 0) lost.Add("left out", words::Grouped(quality.left_out));
  if (quality.cut_at) lost.Add("truncated at", "offset " + words::Grouped(*quality.cut_at));
  lost.Add("error", quality.write_error);
  lost.Into(groups);
}

void AddJob(const model::Run& run, std::vector<FactGroup>& groups) {
  Group job("Job");
  job.Add("software", report::SoftwareOf(run.info.job));
  job.Add("folder", run.info.folder);
  job.Into(groups);
  for (const model::Loader& loader : run.loaders) {
    Group facts(loader.name + ": " + report::LoaderPhrase(loader.info));
    facts.Add("constructed at", words::PlaceInCode(loader.info.file, loader.info.line),
              words::WholePlace(loader.info.file, loader.info.line));
    facts.Add("fed", words::Counted(loader.steps, "step"));
    for (const auto& [name, value] : report::SettingsInCode(loader.info)) facts.Add(name, value);
    facts.Into(groups);
  }
}

void AddTables(const session::State& state, const model::Run& run, RunFacts& facts) {
  facts.tracks.columns = {{"track", false}, {"spans", true}, {"dropped", true}};
  const std::vector<uint64_t> spans = model::SpansByTrack(run);
  for (const model::Track& track : run.tracks) {
    facts.tracks.rows.push_back({{track.info.name},
                                 {words::Grouped(spans[track.info.id.value])},
                                 {track.tally ? words::Grouped(track.tally->dropped) : "-"}});
  }
  if (state.shown.report == nullptr) return;
  const report::Report& report = *state.shown.report;
  if (!report.processes.empty()) {
    facts.processes = TableOf(report::ProcessTable(report.processes, false));
  }
  facts.kernels.columns = {{"kernel", false}, {"count", true}, {"time", true}, {"share", true}};
  for (const report::KernelRow& kernel : report.kernels) {
    facts.kernels.rows.push_back({{words::KernelName(kernel.name)},
                                  {words::Grouped(kernel.count)},
                                  {words::Duration(kernel.ns), {}, words::ExactNs(kernel.ns)},
                                  {words::Percent(kernel.fraction), kernel.fraction}});
  }
  facts.copies.columns = {{"device", false}, {"direction", false}, {"memory", false},
                          {"count", true},   {"bytes", true},      {"time", true}};
  for (const attribution::DeviceUse& device : report.devices) {
    for (const attribution::CopyUse& copy : device.copies) {
      // Of several devices without a name each must still be told apart.
      facts.copies.rows.push_back(
          {{device.name.empty() ? fmt::format("device {}", device.device) : device.name},
           {exporting::WordFor(copy.direction)},
           {exporting::WordFor(copy.memory)},
           {words::Grouped(copy.count)},
           {words::Bytes(copy.bytes), {}, words::Grouped(copy.bytes)},
           {words::Duration(copy.ns), {}, words::ExactNs(copy.ns)}});
    }
  }
}

}  // namespace

RunFacts BuildRunFacts(const session::State& state) {
  RunFacts facts;
  const session::OpenRun* const open = state.Active();
  if (open == nullptr) return facts;
  facts.trust = TrustOf(*open);
  if (open->run == nullptr) return facts;
  const model::Run& run = *open->run;
  AddTrace(*open, facts.groups);
  if (model::IsJob(run)) AddJob(run, facts.groups);
  AddHost(run, facts.groups);
  AddLosses(run, facts.groups);
  // Formatted if it is one of our specs; otherwise as the trace has it.
  const auto spec = ReadSpec(run.info.spec_json, run.path);
  facts.spec = spec.ok() ? WriteSpec(spec.value()) : run.info.spec_json;
  facts.command_line = ShellCommand(run.info.job.command);
  if (!model::IsJob(run)) {
    for (const std::string& argument : run.info.command_line) {
      facts.command_line += (facts.command_line.empty() ? "" : " ") + argument;
    }
  }
  if (state.shown.report != nullptr) facts.limits = state.shown.report->trust.limits;
  facts.assumed = AssumedOn(run.info.device);
  AddTables(state, run, facts);
  return facts;
}

}  // namespace stallscope::viewmodel
