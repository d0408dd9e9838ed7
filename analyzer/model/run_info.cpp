#include <utility>

#include "analyzer/model/assembler.h"

namespace stallscope::model {
namespace {

template <class T>
void Take(T& from, T& to) {
  if (from != T{}) to = std::move(from);
}

}  // namespace

void Update(trace::RunInfo& run, trace::RunInfo later) {
  Take(later.name, run.name);
  Take(later.tool, run.tool);
  Take(later.command_line, run.command_line);
  Take(later.spec_json, run.spec_json);
  Take(later.graph_json, run.graph_json);
  Take(later.seed, run.seed);
  Take(later.data_fingerprint, run.data_fingerprint);
  Take(later.digest, run.digest);
  Take(later.host.name, run.host.name);
  Take(later.host.kernel, run.host.kernel);
  Take(later.host.cpu, run.host.cpu);
  Take(later.host.cores_online, run.host.cores_online);
  Take(later.host.cores_allowed, run.host.cores_allowed);
  Take(later.host.cgroup_cores, run.host.cgroup_cores);
  Take(later.host.memory_bytes, run.host.memory_bytes);
  Take(later.host.memory_limit_bytes, run.host.memory_limit_bytes);
  Take(later.device.kind, run.device.kind);
  Take(later.device.name, run.device.name);
  Take(later.device.memory_bytes, run.device.memory_bytes);
  Take(later.device.driver, run.device.driver);
  Take(later.device.peak_memory_bytes, run.device.peak_memory_bytes);
  Take(later.device.peak_flops_per_s, run.device.peak_flops_per_s);
  Take(later.tick_source, run.tick_source);
  Take(later.ticks_per_second, run.ticks_per_second);
  Take(later.start_ns, run.start_ns);
  Take(later.start_realtime_ns, run.start_realtime_ns);
  Take(later.end_ns, run.end_ns);
  Take(later.process, run.process);
  Take(later.rank, run.rank);
  Take(later.world_size, run.world_size);
  Take(later.warnings, run.warnings);
  Take(later.imported_from, run.imported_from);
  Take(later.limits, run.limits);
  Take(later.flops_per_step, run.flops_per_step);
  Take(later.folder, run.folder);
  Take(later.origin, run.origin);
}

}  // namespace stallscope::model
