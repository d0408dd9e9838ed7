// `stallscope info`: what is in a trace, as text for people and JSON for programs.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analyzer/base/escape.h"
#include "analyzer/cli/outputs.h"
#include "analyzer/cli/program.h"
#include "analyzer/cli/terminal.h"
#include "analyzer/model/run.h"
#include "analyzer/report/job_section.h"
#include "analyzer/report/report.h"
#include "analyzer/report/text.h"
#include "analyzer/spec/json_text.h"
#include "analyzer/words/words.h"
#include "replay/workbench/workbench.h"

namespace stallscope::cli {
namespace {

using report::AlignedTable;
using report::Paint;
using report::Tone;
using Rows = std::vector<std::vector<std::string>>;

std::string Heading(const std::string& text, bool colors) {
  return "\n" + Paint(text, Tone::kStrong, colors) + "\n";
}

struct Fact {
  std::string name;  // empty: of the fact before
  std::string value;
  bool whole = false;  // for copying: never wrapped
};
using Facts = std::vector<Fact>;

void AddFact(Facts& facts, const std::string& name, const std::string& value, bool whole = false) {
  if (!value.empty()) facts.push_back({name, value, whole});
}

// A column of names, and the values beside it.
std::string FactLines(const Facts& facts) {
  constexpr size_t kMargin = 2;
  constexpr size_t kWidestName = 30;
  size_t widest = 0;
  for (const Fact& fact : facts) {
    widest = std::max(widest, std::min(words::TextWidth(Printable(fact.name)), kWidestName));
  }
  const size_t indent = kMargin + widest + kMargin;
  std::string text;
  for (const Fact& fact : facts) {
    const std::string name = words::CutTo(Printable(fact.name), widest);
    std::string line = std::string(kMargin, ' ') + name +
                       std::string(widest - words::TextWidth(name) + kMargin, ' ');
    if (fact.whole) {
      text += line + Printable(fact.value) + "\n";
      continue;
    }
    for (const std::string& part : words::Wrapped(fact.value, words::kTextWidth - indent)) {
      text += line + part + "\n";
      line = std::string(indent, ' ');
    }
  }
  return text;
}

std::string HostFact(const trace::HostInfo& host) {
  if (host.cpu.empty() && host.cores_online == 0) return "";
  std::string text = fmt::format("{}, {} cores", host.cpu, host.cores_online);
  if (host.cores_allowed != 0 && host.cores_allowed != host.cores_online) {
    text += fmt::format(", {} allowed", host.cores_allowed);
  }
  if (host.cgroup_cores > 0) text += fmt::format(", quota of {:.2g} cores", host.cgroup_cores);
  if (host.memory_bytes != 0) text += ", " + words::Bytes(host.memory_bytes);
  return text;
}

void AddJobFacts(const trace::RunInfo& info, Facts& facts) {
  const trace::JobInfo& job = info.job;
  if (job.command.empty()) return;
  AddFact(facts, "job", ShellCommand(job.command), true);
  AddFact(facts, "folder", info.folder, true);
  if (job.exit_code) AddFact(facts, "exit code", std::to_string(*job.exit_code));
  AddFact(facts, "python", job.python);
  for (const auto& framework : job.frameworks) AddFact(facts, framework.name, framework.version);
}

std::string RunFacts(const model::Run& run) {
  Facts facts;
  const model::TimeRange window = model::WindowOf(run);
  AddFact(facts, "run", run.info.name);
  AddFact(facts, "recorded by", run.info.tool);
  AddFact(facts, "command", ShellCommand(run.info.command_line), true);
  AddFact(facts, "format", run.format + " " + run.format_version);
  AddFact(facts, "duration", words::Duration(window.end_ns - window.start_ns));
  AddFact(facts, "steps", report::StepsFact(run));
  AddFact(facts, "host", HostFact(run.info.host));
  AddFact(facts, "device",
          run.info.device.name.empty() || run.info.device.name == run.info.device.kind
              ? run.info.device.kind
              : run.info.device.name + " (" + run.info.device.kind + ")");
  AddFact(facts, "digest", run.info.digest, true);
  AddJobFacts(run.info, facts);
  return FactLines(facts);
}

std::string Stages(const model::Run& run, bool colors) {
  if (run.stages.empty()) return "";
  Rows rows{{"stage", "kind", "workers", "order", "fills"}};
  for (const trace::StageInfo& stage : run.stages) {
    rows.push_back({stage.name, stage.kind, std::to_string(stage.workers),
                    stage.ordered ? "kept" : "free", std::string(run.NameOf(stage.queue))});
  }
  return Heading("Stages", colors) + AlignedTable(rows, {2});
}

std::string Loaders(const model::Run& run, bool colors) {
  if (run.loaders.empty()) return "";
  Facts facts;
  for (const model::Loader& loader : run.loaders) {
    const trace::LoaderInfo& info = loader.info;
    AddFact(facts, loader.name,
            report::LoaderPhrase(info) + ", " + report::FedPhrase(loader, run.loaders));
    const std::string place = words::WholePlace(info.file, info.line);
    if (!place.empty()) AddFact(facts, "", "constructed at " + place, true);
  }
  return Heading("Loaders", colors) + FactLines(facts);
}

std::string Processes(const model::Run& run, bool colors) {
  constexpr size_t kShown = 40;
  if (run.processes.empty()) return "";
  std::vector<uint64_t> tracks(run.processes.size());
  for (const model::Track& track : run.tracks) {
    if (track.info.process.known()) ++tracks[track.info.process.value];
  }
  Rows rows{{"process", "pid", "parent", "tracks", "lived"}};
  for (size_t i = 0; i < std::min(run.processes.size(), kShown); ++i) {
    const trace::ProcessInfo& process = run.processes[i];
    rows.push_back(
        {process.name, std::to_string(process.pid), std::to_string(process.parent),
         words::Grouped(tracks[i]),
         process.end_ns == 0 ? "to the end" : words::Duration(process.end_ns - process.start_ns)});
  }
  std::string text = Heading("Processes", colors) + AlignedTable(rows, {1, 2, 3, 4});
  if (run.processes.size() > kShown) {
    text += fmt::format("  and {} more\n", run.processes.size() - kShown);
  }
  return text;
}

std::string Queues(const model::Run& run, bool colors) {
  if (run.queues.empty()) return "";
  Rows rows{{"queue", "capacity"}};
  for (const model::Queue& queue : run.queues) {
    rows.push_back(
        {queue.info.name, queue.info.lock ? "lock" : words::Grouped(queue.info.capacity)});
  }
  return Heading("Queues", colors) + AlignedTable(rows, {1});
}

std::string Tracks(const model::Run& run, bool colors) {
  constexpr size_t kShown = 40;
  if (run.tracks.empty()) return "";
  const std::vector<uint64_t> spans = model::SpansByTrack(run);
  Rows rows{{"track", "stage", "spans", "dropped"}};
  for (size_t i = 0; i < std::min(run.tracks.size(), kShown); ++i) {
    const model::Track& track = run.tracks[i];
    rows.push_back({track.info.name, std::string(run.NameOf(track.info.stage)),
                    words::Grouped(spans[i]),
                    track.tally ? words::Grouped(track.tally->dropped) : "unknown"});
  }
  std::string text = Heading("Tracks", colors) + AlignedTable(rows, {2, 3});
  if (run.tracks.size() > kShown) {
    text += fmt::format("  and {} more\n", run.tracks.size() - kShown);
  }
  return text;
}

std::string Counters(const model::Run& run, bool colors) {
  if (run.counters.empty()) return "";
  std::vector<uint64_t> samples(run.counters.size());
  for (const trace::Sample& sample : run.rows.samples) {
    if (sample.counter.value < samples.size()) ++samples[sample.counter.value];
  }
  Rows rows{{"counter", "unit", "samples"}};
  for (size_t i = 0; i < run.counters.size(); ++i) {
    rows.push_back({run.counters[i].name, run.counters[i].unit, words::Grouped(samples[i])});
  }
  return Heading("Counters", colors) + AlignedTable(rows, {2});
}

std::string InfoText(const model::Run& run, bool colors) {
  const bool complete = run.quality.Complete();
  std::string trust;
  for (const std::string& line : words::Wrapped(report::TrustLine(run), words::kTextWidth, 2)) {
    trust += (trust.empty() ? "" : "\n") + line;
  }
  return Paint(trust, complete ? Tone::kGood : Tone::kBad, colors) + "\n\n" + RunFacts(run) +
         Loaders(run, colors) + Processes(run, colors) + Stages(run, colors) + Queues(run, colors) +
         Tracks(run, colors) + Counters(run, colors);
}

using Json = nlohmann::ordered_json;

Json HostJson(const trace::HostInfo& host) {
  return {{"name", host.name},
          {"kernel", host.kernel},
          {"cpu", host.cpu},
          {"cores_online", host.cores_online},
          {"cores_allowed", host.cores_allowed},
          {"cgroup_cores", host.cgroup_cores},
          {"memory_bytes", host.memory_bytes},
          {"memory_limit_bytes", host.memory_limit_bytes}};
}

Json StagesJson(const model::Run& run) {
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

Json TracksJson(const model::Run& run) {
  Json tracks = Json::array();
  const std::vector<uint64_t> spans = model::SpansByTrack(run);
  for (size_t i = 0; i < run.tracks.size(); ++i) {
    const model::Track& track = run.tracks[i];
    Json row{
        {"name", track.info.name},
        {"stage", TextOrNull(std::string(run.NameOf(track.info.stage)))},
        {"process", track.info.process.known() ? Json(run.processes[track.info.process.value].name)
                                               : Json(nullptr)},
        {"spans", spans[i]}};
    if (track.tally) {
      row["emitted"] = track.tally->emitted;
      row["stored"] = track.tally->stored;
      row["dropped"] = track.tally->dropped;
    }
    tracks.push_back(std::move(row));
  }
  return tracks;
}

Json QueuesJson(const model::Run& run) {
  Json queues = Json::array();
  for (const model::Queue& queue : run.queues) {
    queues.push_back(
        {{"name", queue.info.name}, {"capacity", queue.info.capacity}, {"lock", queue.info.lock}});
  }
  return queues;
}

Json CountersJson(const model::Run& run) {
  Json counters = Json::array();
  for (const trace::CounterInfo& counter : run.counters) {
    counters.push_back({{"name", counter.name}, {"unit", counter.unit}});
  }
  return counters;
}

Json DamageJson(const model::DataQuality& quality) {
  Json ranges = Json::array();
  for (const trace::DamagedRange& range : quality.damaged_ranges) {
    ranges.push_back(
        {{"offset", range.offset}, {"length", range.length}, {"reason", range.reason}});
  }
  return ranges;
}

Json LoadersJson(const model::Run& run) {
  Json loaders = Json::array();
  for (const model::Loader& loader : run.loaders) {
    loaders.push_back({{"name", loader.name},
                       {"kind", TextOrNull(loader.info.kind)},
                       {"dataset", TextOrNull(loader.info.dataset)},
                       {"file", TextOrNull(loader.info.file)},
                       {"line", loader.info.line},
                       {"steps", loader.steps}});
  }
  return loaders;
}

Json ProcessesJson(const model::Run& run) {
  Json processes = Json::array();
  for (const trace::ProcessInfo& process : run.processes) {
    processes.push_back({{"name", process.name},
                         {"pid", process.pid},
                         {"parent", process.parent},
                         {"arguments", process.arguments},
                         {"start_ns", process.start_ns},
                         {"end_ns", process.end_ns == 0 ? Json(nullptr) : Json(process.end_ns)}});
  }
  return processes;
}

Json JobJson(const trace::RunInfo& info) {
  if (info.job.command.empty()) return nullptr;
  Json frameworks = Json::object();
  for (const auto& framework : info.job.frameworks) frameworks[framework.name] = framework.version;
  return {{"command", info.job.command},
          {"cwd", info.folder},
          {"exit_code", OrNull(info.job.exit_code)},
          {"python", TextOrNull(info.job.python)},
          {"frameworks", frameworks}};
}

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
      {"damage", DamageJson(quality)},
      {"missing_frames", quality.missing_frames},
      {"cut_at", OrNull(quality.cut_at)},
      {"frames", quality.frames},
      {"digest", TextOrNull(run.info.digest)},
      {"name", run.info.name},
      {"tool", run.info.tool},
      {"command_line", run.info.command_line},
      {"start_ns", window.start_ns},
      {"duration_ns", window.end_ns - window.start_ns},
      {"host", HostJson(run.info.host)},
      {"device",
       {{"kind", TextOrNull(run.info.device.kind)}, {"name", TextOrNull(run.info.device.name)}}},
      {"job", JobJson(run.info)},
      {"loaders", LoadersJson(run)},
      {"processes", ProcessesJson(run)},
      {"stages", StagesJson(run)},
      {"queues", QueuesJson(run)},
      {"track_list", TracksJson(run)},
      {"counters", CountersJson(run)},
      {"warnings", words::Condensed(quality.warnings)}};
  return JsonText(info) + "\n";
}

Result<std::string> Describe(const std::string& trace, const std::string& format) {
  STALLSCOPE_ASSIGN_OR_RETURN(const auto run, workbench::Read({trace}, PrintWarnings()));
  return format == "json" ? InfoJson(*run) : InfoText(*run, UseColors());
}

Status RunInfo(const std::string& trace, const std::string& format) {
  STALLSCOPE_ASSIGN_OR_RETURN(const std::string text, Describe(trace, format));
  return WriteOutput("", text);
}

}  // namespace

void AddInfo(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "info", "Show what is in a trace: spans, steps, tracks, and what was lost");
  auto trace = std::make_shared<std::string>();
  auto format = std::make_shared<std::string>("text");
  command->add_option("TRACE", *trace, "Trace to read")->required();
  command->add_option("--format", *format, "Output format")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command->callback([=, &exit_code] {
    const Status done = RunInfo(*trace, *format);
    exit_code = done.ok() ? 0 : Fail(done.error());
  });
}

}  // namespace stallscope::cli
