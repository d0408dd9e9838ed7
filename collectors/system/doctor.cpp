#include "collectors/system/doctor.h"

#include <fmt/core.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include "analyzer/base/clock.h"
#include "collectors/system/gpus.h"
#include "collectors/system/host.h"
#include "collectors/system/kernel_sources.h"
#include "collectors/system/proc_file.h"

namespace stallscope::system {
namespace {

// The shortest of several tries, because the others were interrupted.
double StampNs() {
  constexpr int kTries = 8;
  constexpr int kStamps = 4096;
  int64_t shortest = std::numeric_limits<int64_t>::max();
  for (int attempt = 0; attempt < kTries; ++attempt) {
    const int64_t before = MonotonicNs();
    Ticks sum = 0;
    for (int i = 0; i < kStamps; ++i) sum += NowTicks();
    const int64_t elapsed = MonotonicNs() - before;
    if (sum != 0) shortest = std::min(shortest, elapsed);  // and the loop stays
  }
  return static_cast<double>(shortest) / kStamps;
}

// A kernel that found the time-stamp counter unstable uses one of the slow clocks.
bool KernelDistrustsTsc(const std::string& root) {
  const std::string folder = Below(root, "/sys/devices/system/clocksource/clocksource0");
  const std::string offered = ReadOnce(folder + "/available_clocksource").value_or("tsc");
  const std::string taken = ReadOnce(folder + "/current_clocksource").value_or("");
  std::string_view rest = offered;
  while (const auto word = TakeWord(rest)) {
    if (*word == "tsc") return false;
  }
  return taken.starts_with("hpet") || taken.starts_with("acpi_pm") || taken.starts_with("jiffies");
}

std::string SizeInWords(uint64_t bytes) {
  const char* const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  auto value = static_cast<double>(bytes);
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit) value /= 1024;
  return fmt::format("{:.{}f} {}", value, unit == 0 || value >= 100 ? 0 : 1, units[unit]);
}

Check CheckClock(const std::string& root) {
  const double cost = StampNs();
  if (!TicksAreTsc()) {
    Check check{"clock", CheckState::kLimited,
                fmt::format("CLOCK_MONOTONIC, {:.0f} ns per timestamp; a span takes two", cost),
                ""};
    check.advice = std::getenv("STALLSCOPE_CLOCK") != nullptr
                       ? "unset STALLSCOPE_CLOCK to use the time-stamp counter"
                       : "this CPU has no invariant time-stamp counter: record fewer, longer spans";
    return check;
  }
  if (KernelDistrustsTsc(root)) {
    return {
        "clock", CheckState::kLimited,
        fmt::format("time-stamp counter, {:.0f} ns per timestamp, but the kernel does not trust it",
                    cost),
        "set STALLSCOPE_CLOCK=monotonic"};
  }
  return {"clock", CheckState::kOk,
          fmt::format("invariant time-stamp counter, {:.0f} ns per timestamp", cost), ""};
}

Check CheckDiskSpace(const std::string& folder) {
  constexpr uint64_t kLittle = uint64_t{1} << 30;  // a minute of 600,000 spans a second is 0.3 GB
  struct statvfs about;
  if (statvfs(folder.c_str(), &about) != 0) {
    return {"disk space", CheckState::kMissing, folder + ": " + std::strerror(errno),
            "run it in a folder that exists"};
  }
  const uint64_t free = static_cast<uint64_t>(about.f_bavail) * about.f_frsize;
  Check check{"disk space", CheckState::kOk, SizeInWords(free) + " free in this folder", ""};
  if (free < kLittle) {
    check.state = CheckState::kLimited;
    check.advice = "free some space, or record to another disk with -o";
  }
  return check;
}

Check CheckGpuDriver(const std::string& nvml_library) {
  auto nvml = Nvml::Load(nvml_library);
  if (!nvml.ok()) {
    return {"gpu driver", CheckState::kMissing, nvml.error().what, nvml.error().hint};
  }
  const Nvml& loaded = *nvml.value();
  if (loaded.count() == 0) {
    return {"gpu driver", CheckState::kMissing,
            "NVIDIA driver " + loaded.DriverVersion() + ", no devices",
            "pass a device into the container or machine"};
  }
  Check check{"gpu driver", CheckState::kOk, "NVIDIA driver " + loaded.DriverVersion(), ""};
  for (unsigned index = 0; index < loaded.count(); ++index) {
    const auto device = loaded.Open(index);
    check.detail +=
        fmt::format(", gpu{}: {}", index,
                    device.ok() ? loaded.Name(device.value()) : "unusable: " + device.error().what);
  }
  return check;
}

Check CheckCudaModule(const std::string& cuda_module) {
  if (cuda_module.empty()) {
    return {
        "cuda module", CheckState::kMissing, "no CUDA module in this build",
        "only needed to train stallscope's own model (record --device cuda): build it where the "
        "CUDA toolkit is installed. stallscope run records a job's GPUs without it, by the "
        "framework's profiler"};
  }
  if (access(cuda_module.c_str(), R_OK) != 0) {
    return {"cuda module", CheckState::kMissing, cuda_module + ": " + std::strerror(errno),
            "install the module beside the program"};
  }
  return {"cuda module", CheckState::kOk, cuda_module, ""};
}

Check CheckQuota(const trace::HostInfo& host) {
  if (host.cgroup_cores <= 0) return {"cpu quota", CheckState::kOk, "none", ""};
  Check check{"cpu quota", CheckState::kOk, fmt::format("{:.2f} cores", host.cgroup_cores), ""};
  const uint32_t cores = host.cores_allowed != 0 ? host.cores_allowed : host.cores_online;
  if (host.cgroup_cores < cores) {
    check.state = CheckState::kLimited;
    check.detail +=
        fmt::format(" of the {} that the process sees: more threads are throttled", cores);
    check.advice = "raise cpu.max (docker --cpus, limits.cpu), or keep parallelism within it";
  }
  return check;
}

Check CheckAffinity(const trace::HostInfo& host) {
  if (host.cores_allowed == 0) {
    return {"affinity", CheckState::kMissing, "the CPU affinity could not be read",
            "mount /proc and /sys"};
  }
  Check check{"affinity", CheckState::kOk,
              fmt::format("{} of {} cores", host.cores_allowed, host.cores_online), ""};
  if (host.cores_allowed < host.cores_online) {
    check.state = CheckState::kLimited;
    check.advice =
        "widen it (taskset, cpuset, docker --cpuset-cpus), or keep parallelism within it";
  }
  return check;
}

Check CheckMemoryLimit(const trace::HostInfo& host) {
  const std::string machine = SizeInWords(host.memory_bytes);
  if (host.memory_limit_bytes == 0 || host.memory_limit_bytes >= host.memory_bytes) {
    return {"memory limit", CheckState::kOk, "none below the machine's " + machine, ""};
  }
  return {"memory limit", CheckState::kLimited,
          SizeInWords(host.memory_limit_bytes) + " of the machine's " + machine +
              "; the page cache counts toward it",
          "size caches and shuffle buffers for it, or raise memory.max (docker --memory)"};
}

// "always [madvise] never": the word in brackets.
Check CheckHugePages(const std::string& root) {
  const std::string path = "/sys/kernel/mm/transparent_hugepage/enabled";
  const std::string text = ReadOnce(Below(root, path)).value_or("");
  const size_t open = text.find('[');
  const size_t close = text.find(']');
  if (open == std::string::npos || close == std::string::npos || close < open) {
    return {"huge pages", CheckState::kMissing, "the kernel has no transparent huge pages", ""};
  }
  const std::string taken = text.substr(open + 1, close - open - 1);
  if (taken != "never") return {"huge pages", CheckState::kOk, taken, ""};
  return {"huge pages", CheckState::kLimited, "never: large buffers fault every 4 KiB",
          "echo madvise > " + path};
}

Check CheckGovernor(const std::string& root) {
  const std::string text =
      ReadOnce(Below(root, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")).value_or("");
  std::string_view rest = text;
  const auto governor = TakeWord(rest);
  if (!governor) {
    return {"cpu governor", CheckState::kOk, "not visible here, as in most virtual machines", ""};
  }
  if (*governor == "performance") return {"cpu governor", CheckState::kOk, "performance", ""};
  return {"cpu governor", CheckState::kLimited,
          std::string(*governor) + ": the clock speed follows the load, so runs vary more",
          "cpupower frequency-set -g performance"};
}

Check CheckSteal(const std::string& root) {
  const std::string text = ReadOnce(Below(root, "/proc/stat")).value_or("");
  std::string_view rest = text;
  std::string_view line = TakeLine(rest).value_or(std::string_view());
  const auto label = TakeWord(line);
  uint64_t total = 0;
  uint64_t steal = 0;
  int fields = 0;
  for (; fields < 8; ++fields) {
    const auto number = TakeNumber(line);
    if (!number) break;
    total += *number;
    steal = *number;  // the eighth
  }
  if (label != "cpu" || fields < 8 || total == 0) {
    return {"steal", CheckState::kMissing, "/proc/stat does not report it", "mount /proc"};
  }
  const double share = static_cast<double>(steal) / static_cast<double>(total);
  Check check{"steal", CheckState::kOk,
              fmt::format("{:.2f}% since the machine started", share * 100), ""};
  if (share > 0.01) {
    check.state = CheckState::kLimited;
    check.advice = "the hypervisor gives cores to others: repeat runs, or use a dedicated machine";
  }
  return check;
}

Check CheckSwap(const std::string& root) {
  const std::string meminfo = ReadOnce(Below(root, "/proc/meminfo")).value_or("");
  const auto total = FindNumber(meminfo, "SwapTotal");
  const auto free = FindNumber(meminfo, "SwapFree");
  if (!total || !free || *free > *total) {
    return {"swap", CheckState::kMissing, "/proc/meminfo does not report it", "mount /proc"};
  }
  if (*total == 0) return {"swap", CheckState::kOk, "none", ""};
  const uint64_t used = (*total - *free) * 1024;
  Check check{"swap", CheckState::kOk,
              SizeInWords(used) + " of " + SizeInWords(*total * 1024) + " in use", ""};
  if (used > 0) {
    check.state = CheckState::kLimited;
    check.advice = "free memory before measuring: what was swapped out comes back slowly";
  }
  return check;
}

// CPU quota, affinity, memory limit, huge pages, governor, steal, swap.
std::vector<Check> CheckLimits(const std::string& root) {
  const trace::HostInfo host = ReadHost(root);
  return {CheckQuota(host),    CheckAffinity(host), CheckMemoryLimit(host), CheckHugePages(root),
          CheckGovernor(root), CheckSteal(root),    CheckSwap(root)};
}

// Keeps which counters exist, not their values.
class NameSink : public CounterSink {
 public:
  CounterId Define(const std::string& name, const std::string&) override {
    if (const CounterRow* row = FindCounter(name)) rows_.insert(row->name);
    return CounterId{next_++};
  }
  void Put(CounterId, double) override {}
  const std::set<std::string>& rows() const { return rows_; }

 private:
  std::set<std::string> rows_;
  uint32_t next_ = 0;
};

const char* AdviceFor(std::string_view source) {
  if (source == "pressure") return "boot a kernel with CONFIG_PSI and psi=1";
  if (source == "threads") return "use a kernel with CONFIG_SCHED_INFO, and mount all of /proc";
  if (source == "io") return "use a kernel with CONFIG_TASK_IO_ACCOUNTING";
  if (source == "cgroup") return "mount the control groups under /sys/fs/cgroup";
  if (source == "gpu") return "install NVIDIA's driver, or pass the device into the container";
  if (source == "disks") return "nothing, if the data comes over a network or from memory";
  if (source == "limits") return "mount /proc and /sys";
  return "mount /proc";
}

Check CheckSource(const Source& source, size_t present) {
  Check check{"counters: " + source.name(), CheckState::kOk, "", ""};
  const auto& absences = source.absences();
  const size_t known = present + absences.size();
  if (present == 0) {
    check.state = CheckState::kMissing;
    check.detail = absences.empty() ? "nothing to read" : absences.front().reason;
    check.advice = AdviceFor(source.name());
  } else if (absences.empty()) {
    check.detail = fmt::format("{} kinds", known);
  } else {
    check.detail = fmt::format("{} of {} kinds; no {}: {}", present, known,
                               absences.front().counter, absences.front().reason);
  }
  return check;
}

CounterState StateOf(const CounterRow& row, const std::set<std::string>& present,
                     const std::vector<Absence>& absences) {
  CounterState state{row, present.contains(row.name), ""};
  // The sampler's own thread writes this one; it can always be read.
  if (std::string_view(row.name) == Row("sampler.cpu").name) state.present = true;
  if (state.present) return state;
  state.reason = "nothing to read";
  for (const Absence& absence : absences) {
    if (absence.counter == row.name) state.reason = absence.reason;
  }
  return state;
}

}  // namespace

const char* CheckStateName(CheckState state) {
  switch (state) {
    case CheckState::kOk:
      return "ok";
    case CheckState::kMissing:
      return "missing";
    case CheckState::kLimited:
      return "limited";
  }
  return "";
}

Diagnosis Diagnose(const DoctorOptions& options) {
  Diagnosis diagnosis;
  diagnosis.checks.push_back(CheckClock(options.root));
  for (Check& check : CheckLimits(options.root)) diagnosis.checks.push_back(std::move(check));
  diagnosis.checks.push_back(CheckDiskSpace(options.folder));
  diagnosis.checks.push_back(CheckGpuDriver(options.nvml_library));
  diagnosis.checks.push_back(CheckCudaModule(options.cuda_module));

  auto sources = MakeKernelSources(options.root);
  sources.push_back(MakeGpus(options.nvml_library));
  std::set<std::string> present;
  std::vector<Absence> absences;
  for (const auto& source : sources) {
    NameSink sink;
    source->Read(sink, Effort::kComplete);
    diagnosis.checks.push_back(CheckSource(*source, sink.rows().size()));
    present.insert(sink.rows().begin(), sink.rows().end());
    absences.insert(absences.end(), source->absences().begin(), source->absences().end());
  }
  for (const CounterRow& row : kCounterTable) {
    diagnosis.counters.push_back(StateOf(row, present, absences));
  }
  return diagnosis;
}

}  // namespace stallscope::system
