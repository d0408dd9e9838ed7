#include <fmt/core.h>

#include <string_view>

#include "collectors/system/doctor_checks.h"
#include "collectors/system/host.h"
#include "collectors/system/proc_file.h"
#include "collectors/system/text_scan.h"

namespace stallscope::system {
namespace {

Check CheckQuota(const trace::HostInfo& host) {
  if (host.cgroup_cores <= 0) return {"cpu quota", CheckState::kOk, "none", ""};
  Check check{"cpu quota", CheckState::kOk, fmt::format("{:.2f} cores", host.cgroup_cores), ""};
  const uint32_t cores = host.cores_allowed != 0 ? host.cores_allowed : host.cores_online;
  if (host.cgroup_cores < cores) {
    check.state = CheckState::kLimited;
    check.detail +=
        fmt::format(" of the {} that the process sees: more threads get throttled", cores);
    check.advice = "raise cpu.max (docker --cpus, limits.cpu), or keep parallelism within it";
  }
  return check;
}

Check CheckAffinity(const trace::HostInfo& host) {
  if (host.cores_allowed == 0) {
    return {"affinity", CheckState::kMissing, "the cores that may be used could not be read",
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
              "; the page cache counts",
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
  return {"huge pages", CheckState::kLimited, "never: large buffers take a fault every 4 KiB",
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
          std::string(*governor) + ": the clock follows the load, runs differ more",
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
    return {"steal", CheckState::kMissing, "/proc/stat does not tell", "mount /proc"};
  }
  const double share = static_cast<double>(steal) / static_cast<double>(total);
  Check check{"steal", CheckState::kOk,
              fmt::format("{:.2f}% since the machine started", share * 100), ""};
  if (share > 0.01) {
    check.state = CheckState::kLimited;
    check.advice = "the host gives cores to others: repeat runs, or take a dedicated machine";
  }
  return check;
}

Check CheckSwap(const std::string& root) {
  const std::string meminfo = ReadOnce(Below(root, "/proc/meminfo")).value_or("");
  const auto total = FindNumber(meminfo, "SwapTotal");
  const auto free = FindNumber(meminfo, "SwapFree");
  if (!total || !free || *free > *total) {
    return {"swap", CheckState::kMissing, "/proc/meminfo does not tell", "mount /proc"};
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

}  // namespace

std::vector<Check> CheckLimits(const std::string& root) {
  const trace::HostInfo host = ReadHost(root);
  return {CheckQuota(host),    CheckAffinity(host), CheckMemoryLimit(host), CheckHugePages(root),
          CheckGovernor(root), CheckSteal(root),    CheckSwap(root)};
}

}  // namespace stallscope::system
