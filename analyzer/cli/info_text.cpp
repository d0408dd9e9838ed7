#include <fmt/core.h>

#include <algorithm>

#include "analyzer/cli/info.h"
#include "analyzer/report/layout.h"
#include "analyzer/report/trust.h"

namespace stallscope::cli {
namespace {

using report::Grouped;
using report::Paint;
using report::ReadableBytes;
using report::ReadableNs;
using report::Table;
using report::Tone;
using Rows = std::vector<std::vector<std::string>>;

std::string Heading(const std::string& text, bool colors) {
  return "\n" + Paint(text, Tone::kStrong, colors) + "\n";
}

void AddFact(Rows& rows, const std::string& name, const std::string& value) {
  if (!value.empty()) rows.push_back({name, value});
}

std::string HostFact(const trace::HostInfo& host) {
  if (host.cpu.empty() && host.cores_online == 0) return "";
  std::string text = fmt::format("{}, {} cores", host.cpu, host.cores_online);
  if (host.cores_allowed != 0 && host.cores_allowed != host.cores_online) {
    text += fmt::format(", {} allowed", host.cores_allowed);
  }
  if (host.cgroup_cores > 0) text += fmt::format(", quota of {:.2g} cores", host.cgroup_cores);
  if (host.memory_bytes != 0) text += ", " + ReadableBytes(host.memory_bytes);
  return text;
}

std::string CommandLine(const std::vector<std::string>& arguments) {
  std::string text;
  for (const std::string& argument : arguments) text += (text.empty() ? "" : " ") + argument;
  return text;
}

std::string RunFacts(const model::Run& run) {
  Rows rows;
  const model::TimeRange window = model::WindowOf(run);
  AddFact(rows, "run", run.info.name);
  AddFact(rows, "recorded by", run.info.tool);
  AddFact(rows, "command", CommandLine(run.info.command_line));
  AddFact(rows, "format", run.format + " " + run.format_version);
  AddFact(rows, "duration", ReadableNs(window.end_ns - window.start_ns));
  AddFact(rows, "steps", Grouped(run.rows.steps.size()));
  AddFact(rows, "host", HostFact(run.info.host));
  AddFact(rows, "device",
          run.info.device.name.empty() ? run.info.device.kind
                                       : run.info.device.name + " (" + run.info.device.kind + ")");
  AddFact(rows, "digest", run.info.digest);
  return Table(rows, {});
}

std::string Stages(const model::Run& run, bool colors) {
  if (run.stages.empty()) return "";
  Rows rows{{"stage", "kind", "workers", "order", "fills"}};
  for (const trace::StageInfo& stage : run.stages) {
    rows.push_back({stage.name, stage.kind, std::to_string(stage.workers),
                    stage.ordered ? "kept" : "free", std::string(run.NameOf(stage.queue))});
  }
  return Heading("Stages", colors) + Table(rows, {2});
}

std::string Queues(const model::Run& run, bool colors) {
  if (run.queues.empty()) return "";
  Rows rows{{"queue", "capacity"}};
  for (const model::Queue& queue : run.queues) {
    rows.push_back({queue.info.name, queue.info.lock ? "lock" : Grouped(queue.info.capacity)});
  }
  return Heading("Queues", colors) + Table(rows, {1});
}

std::string Tracks(const model::Run& run, bool colors) {
  constexpr size_t kShown = 40;
  if (run.tracks.empty()) return "";
  // A device's track has copies and kernels, which count as spans.
  std::vector<uint64_t> spans;
  for (const model::Track& track : run.tracks) spans.push_back(track.spans.size());
  for (const trace::Copy& copy : run.rows.copies) {
    if (copy.track.known()) ++spans[copy.track.value];
  }
  for (const trace::Kernel& kernel : run.rows.kernels) {
    if (kernel.track.known()) ++spans[kernel.track.value];
  }
  Rows rows{{"track", "stage", "spans", "dropped"}};
  for (size_t i = 0; i < std::min(run.tracks.size(), kShown); ++i) {
    const model::Track& track = run.tracks[i];
    rows.push_back({track.info.name, std::string(run.NameOf(track.info.stage)), Grouped(spans[i]),
                    track.tally ? Grouped(track.tally->dropped) : "not known"});
  }
  std::string text = Heading("Tracks", colors) + Table(rows, {2, 3});
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
    rows.push_back({run.counters[i].name, run.counters[i].unit, Grouped(samples[i])});
  }
  return Heading("Counters", colors) + Table(rows, {2});
}

}  // namespace

std::string InfoText(const model::Run& run, bool colors) {
  const bool complete = run.quality.Complete();
  return Paint(report::TrustLine(run), complete ? Tone::kGood : Tone::kBad, colors) + "\n\n" +
         RunFacts(run) + Stages(run, colors) + Queues(run, colors) + Tracks(run, colors) +
         Counters(run, colors);
}

}  // namespace stallscope::cli
