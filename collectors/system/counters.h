// Every counter that the samplers can write: its name, its unit, and how it behaves.
//
// The names are part of the trace: rules and reports look counters up by them, so a name is never
// given another meaning. `<n>` in a name stands for a number, `<disk>` for a block device, `<tid>`
// and `<pid>` for the operating system's id of a thread and a process. A source makes its counters
// by Row(), so that one that is not here does not compile. Constants: any thread.
#pragma once

#include <string>
#include <string_view>

namespace stallscope::system {

enum class CounterKind {
  kCumulative,  // grows since some start before the run: the difference of two samples counts
  kGauge,       // holds for the moment of the sample
};

struct CounterRow {
  const char* name;
  const char* unit;  // ns, bytes, count, cores, percent, bytes/s, MHz, W
  CounterKind kind;
  const char* about;
};

// All rows, in the order in which `stallscope doctor --format json` lists them.
inline constexpr CounterRow kCounterTable[] = {
    {"process.cpu_user", "ns", CounterKind::kCumulative, "CPU time in user code"},
    {"process.cpu_system", "ns", CounterKind::kCumulative, "CPU time in the kernel on its behalf"},
    {"process.faults_minor", "count", CounterKind::kCumulative, "page faults served from memory"},
    {"process.faults_major", "count", CounterKind::kCumulative,
     "page faults that had to read a disk"},
    {"process.switches_voluntary", "count", CounterKind::kCumulative,
     "times a thread yielded its core to wait"},
    {"process.switches_involuntary", "count", CounterKind::kCumulative,
     "times a thread was preempted"},
    {"process.run_wait", "ns", CounterKind::kCumulative,
     "time its threads were runnable but had no core; a lower bound"},
    {"process.threads", "count", CounterKind::kGauge, "threads seen in the last full pass"},
    {"process.cores_allowed", "cores", CounterKind::kGauge, "cores allowed by its affinity"},
    {"process<pid>.cpu", "ns", CounterKind::kCumulative, "a job's process: its CPU time"},
    {"process<pid>.rss", "bytes", CounterKind::kGauge,
     "a job's process: its resident memory without mapped files, in equal parts where it is "
     "shared"},
    {"process<pid>.private", "bytes", CounterKind::kGauge,
     "a job's process: memory that no other process has"},
    {"process<pid>.io_requested", "bytes", CounterKind::kCumulative,
     "a job's process: bytes returned by read calls"},
    {"process<pid>.io_from_disk", "bytes", CounterKind::kCumulative,
     "a job's process: bytes fetched from a block device"},
    {"process<pid>.threads", "count", CounterKind::kGauge, "a job's process: its threads"},
    {"process<pid>.pool_on_cpu", "ns", CounterKind::kCumulative,
     "a job's process: time on a core of its native loader's threads"},
    {"process<pid>.pool_run_wait", "ns", CounterKind::kCumulative,
     "the same threads' time runnable but without a core"},
    {"thread<tid>.on_cpu", "ns", CounterKind::kCumulative, "one thread's time on a core"},
    {"thread<tid>.run_wait", "ns", CounterKind::kCumulative,
     "one thread's time runnable but without a core"},

    {"cpu.busy", "ns", CounterKind::kCumulative, "all cores: busy time, for any process"},
    {"cpu.iowait", "ns", CounterKind::kCumulative, "all cores: idle with a disk request pending"},
    {"cpu.steal", "ns", CounterKind::kCumulative, "all cores: stolen by the hypervisor"},
    {"core<n>.busy", "ns", CounterKind::kCumulative, "one core: busy time"},
    {"core<n>.iowait", "ns", CounterKind::kCumulative,
     "one core: idle with a disk request pending; may decrease"},
    {"core<n>.steal", "ns", CounterKind::kCumulative, "one core: stolen by the hypervisor"},

    {"memory.rss", "bytes", CounterKind::kGauge,
     "resident memory of the process; of a job, without mapped files"},
    {"memory.file_backed", "bytes", CounterKind::kGauge,
     "the part that is shared or mapped from files"},
    {"memory.peak", "bytes", CounterKind::kGauge, "peak resident memory"},
    {"memory.swapped", "bytes", CounterKind::kGauge, "memory of the process in swap"},
    {"memory.available", "bytes", CounterKind::kGauge,
     "memory that the machine can provide without swapping"},

    {"io.requested", "bytes", CounterKind::kCumulative,
     "bytes returned by read calls, including from the page cache"},
    {"io.from_disk", "bytes", CounterKind::kCumulative, "bytes fetched from a block device"},
    {"io.written", "bytes", CounterKind::kCumulative, "bytes passed to write calls"},
    {"io.to_disk", "bytes", CounterKind::kCumulative, "bytes sent to a block device"},
    {"io.read_calls", "count", CounterKind::kCumulative, "read calls"},
    {"io.write_calls", "count", CounterKind::kCumulative, "write calls"},

    {"disk.<disk>.reads", "count", CounterKind::kCumulative, "completed reads"},
    {"disk.<disk>.read_bytes", "bytes", CounterKind::kCumulative, "bytes read"},
    {"disk.<disk>.read_time", "ns", CounterKind::kCumulative,
     "time from request to completion, summed over reads"},
    {"disk.<disk>.write_bytes", "bytes", CounterKind::kCumulative, "bytes written"},
    {"disk.<disk>.in_flight", "count", CounterKind::kGauge, "requests in flight"},
    {"disk.<disk>.busy", "ns", CounterKind::kCumulative,
     "time with at least one request in flight"},
    {"disk.<disk>.queue_time", "ns", CounterKind::kCumulative,
     "time in queue, summed over requests"},

    {"psi.cpu.some", "ns", CounterKind::kCumulative, "some task waited for a core"},
    {"psi.cpu.full", "ns", CounterKind::kCumulative, "every task waited for a core"},
    {"psi.io.some", "ns", CounterKind::kCumulative, "some task waited for a disk"},
    {"psi.io.full", "ns", CounterKind::kCumulative, "every task waited for a disk"},
    {"psi.memory.some", "ns", CounterKind::kCumulative, "some task waited for memory"},
    {"psi.memory.full", "ns", CounterKind::kCumulative, "every task waited for memory"},
    {"cgroup.psi.cpu.some", "ns", CounterKind::kCumulative,
     "like psi.cpu.some, for the tasks in this cgroup"},
    {"cgroup.psi.cpu.full", "ns", CounterKind::kCumulative,
     "like psi.cpu.full, for the tasks in this cgroup"},
    {"cgroup.psi.io.some", "ns", CounterKind::kCumulative,
     "like psi.io.some, for the tasks in this cgroup"},
    {"cgroup.psi.io.full", "ns", CounterKind::kCumulative,
     "like psi.io.full, for the tasks in this cgroup"},
    {"cgroup.psi.memory.some", "ns", CounterKind::kCumulative,
     "like psi.memory.some, for the tasks in this cgroup"},
    {"cgroup.psi.memory.full", "ns", CounterKind::kCumulative,
     "like psi.memory.full, for the tasks in this cgroup"},

    {"cgroup.cores", "cores", CounterKind::kGauge, "the tightest CPU quota above the process"},
    {"cgroup.cpu", "ns", CounterKind::kCumulative, "CPU time of the group"},
    {"cgroup.periods", "count", CounterKind::kCumulative, "quota periods that started"},
    {"cgroup.throttled_periods", "count", CounterKind::kCumulative,
     "quota periods in which the group was throttled"},
    {"cgroup.throttled", "ns", CounterKind::kCumulative,
     "time throttled by the quota, summed over cores"},
    {"cgroup.memory", "bytes", CounterKind::kGauge, "memory of the group, including page cache"},
    {"cgroup.memory_limit", "bytes", CounterKind::kGauge,
     "the tightest memory limit above the process"},
    {"cgroup.memory_high", "count", CounterKind::kCumulative,
     "times memory.high throttled the group"},
    {"cgroup.memory_full", "count", CounterKind::kCumulative,
     "times the group hit its memory limit"},
    {"cgroup.oom_kills", "count", CounterKind::kCumulative, "tasks killed for lack of memory"},

    {"gpu<n>.utilization", "percent", CounterKind::kGauge,
     "share of the driver's last window with a kernel running"},
    {"gpu<n>.memory", "bytes", CounterKind::kGauge, "device memory in use, by any process"},
    {"gpu<n>.sm_clock", "MHz", CounterKind::kGauge, "clock of the multiprocessors"},
    {"gpu<n>.power", "W", CounterKind::kGauge, "power drawn"},
    {"gpu<n>.pcie_rx", "bytes/s", CounterKind::kGauge, "into the device, over 20 ms"},
    {"gpu<n>.pcie_tx", "bytes/s", CounterKind::kGauge, "out of the device, over 20 ms"},

    {"sampler.cpu", "ns", CounterKind::kCumulative,
     "CPU time of the thread that samples the kernel's counters"},
};

// The row of that name, found by the compiler, which refuses a name that is not in the table.
consteval const CounterRow& Row(std::string_view name) {
  for (const CounterRow& row : kCounterTable) {
    if (name == row.name) return row;
  }
  throw "no counter has this name";
}

// "gpu<n>.power" for "3" is "gpu3.power"; a row without a placeholder is its own name.
std::string CounterName(const CounterRow& row, std::string_view instance);

// The row that a counter's name was made from; null for a foreign name.
const CounterRow* FindCounter(std::string_view name);

}  // namespace stallscope::system
