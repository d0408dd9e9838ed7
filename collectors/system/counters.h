// Every counter that the samplers can write: its name, its unit, and how it behaves.
//
// The names are part of the trace: rules and reports look counters up by them, so a name is never
// given another meaning. `<n>` in a name stands for a number, `<disk>` for a block device, `<tid>`
// for the operating system's number of a thread. A source makes its counters from these rows, so a
// counter that is not here cannot be written. Constants: any thread.
#ifndef STALLSCOPE_COLLECTORS_SYSTEM_COUNTERS_H_
#define STALLSCOPE_COLLECTORS_SYSTEM_COUNTERS_H_

#include <span>
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

namespace counter {

#define STALLSCOPE_CUMULATIVE(id, name, unit, about) \
  inline constexpr CounterRow id { name, unit, CounterKind::kCumulative, about }
#define STALLSCOPE_GAUGE(id, name, unit, about) \
  inline constexpr CounterRow id { name, unit, CounterKind::kGauge, about }

STALLSCOPE_CUMULATIVE(kProcessCpuUser, "process.cpu_user", "ns", "CPU time in the program");
STALLSCOPE_CUMULATIVE(kProcessCpuSystem, "process.cpu_system", "ns",
                      "CPU time in the kernel on its behalf");
STALLSCOPE_CUMULATIVE(kProcessFaultsMinor, "process.faults_minor", "count",
                      "page faults served from memory");
STALLSCOPE_CUMULATIVE(kProcessFaultsMajor, "process.faults_major", "count",
                      "page faults that had to read a disk");
STALLSCOPE_CUMULATIVE(kProcessSwitchesVoluntary, "process.switches_voluntary", "count",
                      "times that a thread gave up its core to wait");
STALLSCOPE_CUMULATIVE(kProcessSwitchesInvoluntary, "process.switches_involuntary", "count",
                      "times that a thread lost its core to another");
STALLSCOPE_CUMULATIVE(kProcessRunWait, "process.run_wait", "ns",
                      "time its threads were runnable without a core; a lower bound");
STALLSCOPE_GAUGE(kProcessThreads, "process.threads", "count", "threads seen by the last full look");
STALLSCOPE_GAUGE(kProcessCoresAllowed, "process.cores_allowed", "cores",
                 "cores that its affinity leaves it");
STALLSCOPE_CUMULATIVE(kThreadOnCpu, "thread<tid>.on_cpu", "ns", "one thread's time on a core");
STALLSCOPE_CUMULATIVE(kThreadRunWait, "thread<tid>.run_wait", "ns",
                      "one thread's time runnable without a core");

STALLSCOPE_CUMULATIVE(kCpuBusy, "cpu.busy", "ns", "all cores: time at work, for any process");
STALLSCOPE_CUMULATIVE(kCpuIowait, "cpu.iowait", "ns", "all cores: idle with a disk request open");
STALLSCOPE_CUMULATIVE(kCpuSteal, "cpu.steal", "ns", "all cores: taken away by the hypervisor");
STALLSCOPE_CUMULATIVE(kCoreBusy, "core<n>.busy", "ns", "one core: time at work");
STALLSCOPE_CUMULATIVE(kCoreIowait, "core<n>.iowait", "ns",
                      "one core: idle with a disk request open; may step back");
STALLSCOPE_CUMULATIVE(kCoreSteal, "core<n>.steal", "ns", "one core: taken by the hypervisor");

STALLSCOPE_GAUGE(kMemoryRss, "memory.rss", "bytes", "resident memory of the process");
STALLSCOPE_GAUGE(kMemoryFileBacked, "memory.file_backed", "bytes",
                 "the part of it that is mapped from files or shared");
STALLSCOPE_GAUGE(kMemoryPeak, "memory.peak", "bytes", "the most that was ever resident");
STALLSCOPE_GAUGE(kMemorySwapped, "memory.swapped", "bytes", "memory of the process in swap");
STALLSCOPE_GAUGE(kMemoryAvailable, "memory.available", "bytes",
                 "what the machine can still give without swapping");

STALLSCOPE_CUMULATIVE(kIoRequested, "io.requested", "bytes",
                      "bytes that read calls returned, from the page cache too");
STALLSCOPE_CUMULATIVE(kIoFromDisk, "io.from_disk", "bytes", "bytes fetched from a block device");
STALLSCOPE_CUMULATIVE(kIoWritten, "io.written", "bytes", "bytes handed to write calls");
STALLSCOPE_CUMULATIVE(kIoToDisk, "io.to_disk", "bytes", "bytes sent to a block device");
STALLSCOPE_CUMULATIVE(kIoReadCalls, "io.read_calls", "count", "read calls");
STALLSCOPE_CUMULATIVE(kIoWriteCalls, "io.write_calls", "count", "write calls");

STALLSCOPE_CUMULATIVE(kDiskReads, "disk.<disk>.reads", "count", "finished reads");
STALLSCOPE_CUMULATIVE(kDiskReadBytes, "disk.<disk>.read_bytes", "bytes", "bytes read");
STALLSCOPE_CUMULATIVE(kDiskReadTime, "disk.<disk>.read_time", "ns",
                      "time from request to end, added up over the reads");
STALLSCOPE_CUMULATIVE(kDiskWriteBytes, "disk.<disk>.write_bytes", "bytes", "bytes written");
STALLSCOPE_GAUGE(kDiskInFlight, "disk.<disk>.in_flight", "count", "requests open now");
STALLSCOPE_CUMULATIVE(kDiskBusy, "disk.<disk>.busy", "ns", "time with at least one request open");
STALLSCOPE_CUMULATIVE(kDiskQueueTime, "disk.<disk>.queue_time", "ns",
                      "time in queue, added up over the requests");

STALLSCOPE_CUMULATIVE(kPsiCpuSome, "psi.cpu.some", "ns", "some task waited for a core");
STALLSCOPE_CUMULATIVE(kPsiCpuFull, "psi.cpu.full", "ns", "every task waited for a core");
STALLSCOPE_CUMULATIVE(kPsiIoSome, "psi.io.some", "ns", "some task waited for a disk");
STALLSCOPE_CUMULATIVE(kPsiIoFull, "psi.io.full", "ns", "every task waited for a disk");
STALLSCOPE_CUMULATIVE(kPsiMemorySome, "psi.memory.some", "ns", "some task waited for memory");
STALLSCOPE_CUMULATIVE(kPsiMemoryFull, "psi.memory.full", "ns", "every task waited for memory");
STALLSCOPE_CUMULATIVE(kCgroupPsiCpuSome, "cgroup.psi.cpu.some", "ns",
                      "as psi.cpu.some, of the tasks in this cgroup");
STALLSCOPE_CUMULATIVE(kCgroupPsiCpuFull, "cgroup.psi.cpu.full", "ns", "as psi.cpu.full, likewise");
STALLSCOPE_CUMULATIVE(kCgroupPsiIoSome, "cgroup.psi.io.some", "ns", "as psi.io.some, likewise");
STALLSCOPE_CUMULATIVE(kCgroupPsiIoFull, "cgroup.psi.io.full", "ns", "as psi.io.full, likewise");
STALLSCOPE_CUMULATIVE(kCgroupPsiMemorySome, "cgroup.psi.memory.some", "ns",
                      "as psi.memory.some, likewise");
STALLSCOPE_CUMULATIVE(kCgroupPsiMemoryFull, "cgroup.psi.memory.full", "ns",
                      "as psi.memory.full, likewise");

STALLSCOPE_GAUGE(kCgroupCores, "cgroup.cores", "cores", "the tightest CPU quota above the process");
STALLSCOPE_CUMULATIVE(kCgroupCpu, "cgroup.cpu", "ns", "CPU time of the group");
STALLSCOPE_CUMULATIVE(kCgroupPeriods, "cgroup.periods", "count", "quota periods that began");
STALLSCOPE_CUMULATIVE(kCgroupThrottledPeriods, "cgroup.throttled_periods", "count",
                      "quota periods that ran out");
STALLSCOPE_CUMULATIVE(kCgroupThrottled, "cgroup.throttled", "ns",
                      "time held back by the quota, added up over the cores");
STALLSCOPE_GAUGE(kCgroupMemory, "cgroup.memory", "bytes", "memory of the group, page cache too");
STALLSCOPE_GAUGE(kCgroupMemoryLimit, "cgroup.memory_limit", "bytes",
                 "the tightest memory limit above the process");
STALLSCOPE_CUMULATIVE(kCgroupMemoryHigh, "cgroup.memory_high", "count",
                      "times that memory.high slowed the group down");
STALLSCOPE_CUMULATIVE(kCgroupMemoryFull, "cgroup.memory_full", "count",
                      "times that the group ran into its memory limit");
STALLSCOPE_CUMULATIVE(kCgroupOomKills, "cgroup.oom_kills", "count", "tasks killed for memory");

STALLSCOPE_GAUGE(kGpuUtilization, "gpu<n>.utilization", "percent",
                 "of the driver's last window, time with a kernel running");
STALLSCOPE_GAUGE(kGpuMemory, "gpu<n>.memory", "bytes", "device memory in use, by any process");
STALLSCOPE_GAUGE(kGpuSmClock, "gpu<n>.sm_clock", "MHz", "clock of the multiprocessors");
STALLSCOPE_GAUGE(kGpuPower, "gpu<n>.power", "W", "power drawn");
STALLSCOPE_GAUGE(kGpuPcieRx, "gpu<n>.pcie_rx", "bytes/s", "into the device, over 20 ms");
STALLSCOPE_GAUGE(kGpuPcieTx, "gpu<n>.pcie_tx", "bytes/s", "out of the device, over 20 ms");

STALLSCOPE_CUMULATIVE(kSamplerCpu, "sampler.cpu", "ns",
                      "CPU time of the thread that samples the kernel's counters");

#undef STALLSCOPE_CUMULATIVE
#undef STALLSCOPE_GAUGE

}  // namespace counter

// All rows, in the order of the README's table.
std::span<const CounterRow> CounterTable();

// "gpu<n>.power" for "3" is "gpu3.power"; a row without a placeholder is its own name.
std::string CounterName(const CounterRow& row, std::string_view instance);

// The row that a counter's name was made from; null for a foreign name.
const CounterRow* FindCounter(std::string_view name);

}  // namespace stallscope::system

#endif  // STALLSCOPE_COLLECTORS_SYSTEM_COUNTERS_H_
