#include "analyzer/trace/definitions_codec.h"

#include <utility>

namespace stallscope::trace {
namespace {

void Encode(const RunInfo& run, wire::RunInfo& to) {
  to.set_name(run.name);
  to.set_tool(run.tool);
  for (const std::string& argument : run.command_line) to.add_command_line(argument);
  to.set_spec_json(run.spec_json);
  to.set_graph_json(run.graph_json);
  to.set_seed(run.seed);
  to.set_data_fingerprint(run.data_fingerprint);
  to.set_digest(run.digest);
  wire::HostInfo& host = *to.mutable_host();
  host.set_name(run.host.name);
  host.set_kernel(run.host.kernel);
  host.set_cpu(run.host.cpu);
  host.set_cores_online(run.host.cores_online);
  host.set_cores_allowed(run.host.cores_allowed);
  host.set_cgroup_cores(run.host.cgroup_cores);
  host.set_memory_bytes(run.host.memory_bytes);
  host.set_memory_limit_bytes(run.host.memory_limit_bytes);
  wire::DeviceInfo& device = *to.mutable_device();
  device.set_kind(run.device.kind);
  device.set_name(run.device.name);
  device.set_memory_bytes(run.device.memory_bytes);
  device.set_driver(run.device.driver);
  device.set_peak_memory_bytes(run.device.peak_memory_bytes);
  device.set_peak_flops_per_s(run.device.peak_flops_per_s);
  to.set_tick_source(run.tick_source);
  to.set_ticks_per_second(run.ticks_per_second);
  to.set_start_ns(run.start_ns);
  to.set_start_realtime_ns(run.start_realtime_ns);
  to.set_end_ns(run.end_ns);
  to.set_process(run.process);
  to.set_rank(run.rank);
  to.set_world_size(run.world_size);
  for (const std::string& warning : run.warnings) to.add_warnings(warning);
  to.set_imported_from(run.imported_from);
  for (const std::string& limit : run.limits) to.add_limits(limit);
  to.set_flops_per_step(run.flops_per_step);
  to.set_folder(run.folder);
  to.set_origin(run.origin);
  if (run.job == JobInfo()) return;
  wire::JobInfo& job = *to.mutable_job();
  for (const std::string& argument : run.job.command) job.add_command(argument);
  job.set_python(run.job.python);
  for (const JobInfo::Framework& framework : run.job.frameworks) {
    job.add_framework(framework.name);
    job.add_framework_version(framework.version);
  }
  if (run.job.exit_code) job.set_exit_code_plus_1(*run.job.exit_code + 1);
  job.set_checkout(run.job.checkout);
}

void Encode(const ProcessInfo& from, wire::ProcessInfo& to) {
  to.set_id(from.id.value);
  to.set_name(from.name);
  to.set_pid(from.pid);
  to.set_parent(from.parent);
  for (const std::string& argument : from.arguments) to.add_arguments(argument);
  to.set_start_ns(from.start_ns);
  to.set_end_ns(from.end_ns);
  if (from.rank) to.set_rank_plus_1(*from.rank + 1);
  to.set_ranks_of_host(from.ranks_of_host);
}

void Encode(const LoaderInfo& from, wire::LoaderInfo& to) {
  to.set_id(from.id.value);
  to.set_process_plus_1(from.process.value + 1);
  to.set_kind(from.kind);
  to.set_dataset(from.dataset);
  to.set_file(from.file);
  to.set_line(from.line);
  to.set_settings_json(from.settings_json);
  if (from.call == CallSite()) return;
  wire::CallSite& call = *to.mutable_call();
  call.set_line(from.call.line);
  call.set_column(from.call.column);
  call.set_end_line(from.call.end_line);
  call.set_end_column(from.call.end_column);
  for (const std::string& name : from.call.names) call.add_name(name);
  for (const std::string& parameter : from.call.parameters) call.add_parameter(parameter);
  for (const std::string& keyword : from.call.keywords) call.add_keyword(keyword);
  call.set_any_keyword(from.call.any_keyword);
  call.set_source_line(from.call.source_line);
  call.set_source(from.call.source);
}

CallSite Decode(const wire::CallSite& from) {
  return {from.line(),
          from.column(),
          from.end_line(),
          from.end_column(),
          {from.name().begin(), from.name().end()},
          {from.parameter().begin(), from.parameter().end()},
          {from.keyword().begin(), from.keyword().end()},
          from.any_keyword(),
          from.source_line(),
          from.source()};
}

JobInfo Decode(const wire::JobInfo& from) {
  JobInfo job;
  job.command.assign(from.command().begin(), from.command().end());
  job.python = from.python();
  const int frameworks = std::min(from.framework_size(), from.framework_version_size());
  for (int i = 0; i < frameworks; ++i) {
    job.frameworks.push_back({from.framework(i), from.framework_version(i)});
  }
  if (from.exit_code_plus_1() != 0) job.exit_code = from.exit_code_plus_1() - 1;
  job.checkout = from.checkout();
  return job;
}

RunInfo Decode(wire::RunInfo& from) {
  RunInfo run;
  run.name = from.name();
  run.tool = from.tool();
  run.command_line.assign(from.command_line().begin(), from.command_line().end());
  run.spec_json = from.spec_json();
  run.graph_json = from.graph_json();
  run.seed = from.seed();
  run.data_fingerprint = from.data_fingerprint();
  run.digest = from.digest();
  run.host = {from.host().name(),          from.host().kernel(),
              from.host().cpu(),           from.host().cores_online(),
              from.host().cores_allowed(), from.host().cgroup_cores(),
              from.host().memory_bytes(),  from.host().memory_limit_bytes()};
  run.device = {from.device().kind(),
                from.device().name(),
                from.device().memory_bytes(),
                from.device().driver(),
                from.device().peak_memory_bytes(),
                from.device().peak_flops_per_s()};
  run.tick_source = from.tick_source();
  run.ticks_per_second = from.ticks_per_second();
  run.start_ns = ClampTime(from.start_ns());
  run.start_realtime_ns = ClampTime(from.start_realtime_ns());
  run.end_ns = ClampTime(from.end_ns());
  run.process = from.process();
  run.rank = from.rank();
  run.world_size = from.world_size();
  run.warnings.assign(from.warnings().begin(), from.warnings().end());
  run.imported_from = from.imported_from();
  run.limits.assign(from.limits().begin(), from.limits().end());
  run.flops_per_step = from.flops_per_step();
  run.folder = from.folder();
  run.origin = from.origin();
  run.job = Decode(from.job());
  return run;
}

}  // namespace

void Encode(const Definitions& from, wire::Definitions& to) {
  if (from.run) Encode(*from.run, *to.mutable_run());
  for (const StageInfo& stage : from.stages) {
    wire::StageInfo& s = *to.add_stages();
    s.set_id(stage.id.value);
    s.set_name(stage.name);
    s.set_kind(stage.kind);
    for (StageId input : stage.inputs) s.add_inputs(input.value);
    s.set_queue_plus_1(stage.queue.value + 1);
    s.set_workers(stage.workers);
    s.set_ordered(stage.ordered);
    s.set_loader_plus_1(stage.loader.value + 1);
    s.set_tuned(stage.tuned);
    for (const auto& [name, value] : stage.settings) {
      wire::StageSetting& setting = *s.add_settings();
      setting.set_name(name);
      setting.set_value(value);
    }
  }
  for (const QueueInfo& queue : from.queues) {
    wire::QueueInfo& q = *to.add_queues();
    q.set_id(queue.id.value);
    q.set_name(queue.name);
    q.set_capacity(queue.capacity);
    q.set_lock(queue.lock);
  }
  for (const TrackInfo& track : from.tracks) {
    wire::TrackInfo& t = *to.add_tracks();
    t.set_id(track.id.value);
    t.set_name(track.name);
    t.set_kind(static_cast<uint32_t>(track.kind));
    t.set_stage_plus_1(track.stage.value + 1);
    t.set_thread(track.thread);
    t.set_device(track.device);
    t.set_process_plus_1(track.process.value + 1);
  }
  for (const CounterInfo& counter : from.counters) {
    wire::CounterInfo& c = *to.add_counters();
    c.set_id(counter.id.value);
    c.set_name(counter.name);
    c.set_unit(counter.unit);
    c.set_process_plus_1(counter.process.value + 1);
  }
  for (const ProcessInfo& process : from.processes) Encode(process, *to.add_processes());
  for (const LoaderInfo& loader : from.loaders) Encode(loader, *to.add_loaders());
  for (const OpInfo& op : from.ops) {
    wire::OpInfo& o = *to.add_ops();
    o.set_name(op.name);
    o.set_file(op.file);
    o.set_line(op.line);
  }
  for (const CodeLines& code : from.code_lines) {
    wire::CodeLines& c = *to.add_code_lines();
    c.set_file(code.file);
    c.set_first_line(code.first_line);
    for (const CodeLines::Line& line : code.lines) {
      c.add_line(line.line);
      c.add_ns(line.ns);
      c.add_samples(line.samples);
    }
  }
}

Definitions Decode(wire::Definitions& from) {
  Definitions to;
  if (from.has_run()) to.run = Decode(*from.mutable_run());
  for (const wire::StageInfo& s : from.stages()) {
    StageInfo stage{StageId{s.id()},
                    s.name(),
                    s.kind(),
                    {},
                    QueueId{s.queue_plus_1() - 1},
                    s.workers(),
                    s.ordered(),
                    LoaderId{s.loader_plus_1() - 1},
                    s.tuned()};
    for (uint32_t input : s.inputs()) stage.inputs.push_back(StageId{input});
    for (const wire::StageSetting& setting : s.settings()) {
      stage.settings.try_emplace(setting.name(), setting.value());
    }
    to.stages.push_back(std::move(stage));
  }
  for (const wire::QueueInfo& q : from.queues()) {
    to.queues.push_back({QueueId{q.id()}, q.name(), q.capacity(), q.lock()});
  }
  for (const wire::TrackInfo& t : from.tracks()) {
    // A kind of a later version has at least a name; most tracks are threads.
    const TrackKind kind = t.kind() > 4 ? TrackKind::kThread : static_cast<TrackKind>(t.kind());
    to.tracks.push_back({TrackId{t.id()}, t.name(), kind, StageId{t.stage_plus_1() - 1}, t.thread(),
                         t.device(), ProcessId{t.process_plus_1() - 1}});
  }
  for (const wire::CounterInfo& c : from.counters()) {
    to.counters.push_back(
        {CounterId{c.id()}, c.name(), c.unit(), ProcessId{c.process_plus_1() - 1}});
  }
  for (const wire::ProcessInfo& p : from.processes()) {
    to.processes.push_back({ProcessId{p.id()},
                            p.name(),
                            p.pid(),
                            p.parent(),
                            {p.arguments().begin(), p.arguments().end()},
                            ClampTime(p.start_ns()),
                            ClampTime(p.end_ns())});
    if (p.rank_plus_1() != 0) to.processes.back().rank = p.rank_plus_1() - 1;
    to.processes.back().ranks_of_host = p.ranks_of_host();
  }
  for (const wire::LoaderInfo& l : from.loaders()) {
    to.loaders.push_back({LoaderId{l.id()}, ProcessId{l.process_plus_1() - 1}, l.kind(),
                          l.dataset(), l.file(), l.line(), l.settings_json(), Decode(l.call())});
  }
  for (const wire::OpInfo& o : from.ops()) to.ops.push_back({o.name(), o.file(), o.line()});
  for (const wire::CodeLines& c : from.code_lines()) {
    CodeLines code{c.file(), c.first_line(), {}};
    const int count = std::min(
        {c.line_size(), c.ns_size(), c.samples_size(), static_cast<int>(kMaxLinesOfFunction)});
    for (int i = 0; i < count; ++i) code.lines.push_back({c.line(i), c.ns(i), c.samples(i)});
    to.code_lines.push_back(std::move(code));
  }
  return to;
}

}  // namespace stallscope::trace
