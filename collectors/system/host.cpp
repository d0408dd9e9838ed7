#include "collectors/system/host.h"

#include <string_view>

#include "analyzer/base/units.h"
#include "collectors/system/cgroup.h"
#include "collectors/system/proc_file.h"

namespace stallscope::system {
namespace {

// "key: value" or "key : value" of a text such as /proc/cpuinfo, the first; empty where missing.
std::string TextBehind(const std::string& text, const std::string& key) {
  std::string_view rest = text;
  while (auto line = TakeLine(rest)) {
    if (!line->starts_with(key)) continue;
    std::string_view value = line->substr(key.size());
    const size_t colon = value.find_first_not_of(" \t");
    if (colon == std::string_view::npos || value[colon] != ':') continue;
    value.remove_prefix(colon + 1);
    const size_t begin = value.find_first_not_of(" \t");
    return begin == std::string_view::npos ? "" : std::string(value.substr(begin));
  }
  return "";
}

std::string FirstLine(const std::string& path) {
  const std::string content = ReadOnce(path).value_or("");
  std::string_view rest = content;
  return std::string(TakeLine(rest).value_or(std::string_view()));
}

std::string OnlineList(const std::string& root) {
  return FirstLine(Below(root, "/sys/devices/system/cpu/online"));
}

// Read again each time, all the way up the tree: an orchestrator may resize a running group. That
// costs a few opens every five seconds.
class Limits : public Source {
 public:
  explicit Limits(const std::string& root)
      : Source("limits", 5 * kNsPerSecond), root_(root), cgroup_(LocateCgroup(root)) {}

  void Read(CounterSink& sink, Effort) override {
    if (const auto cores = CoresAllowed(root_)) {
      allowed_.Put(sink, uint64_t{*cores});
    } else {
      Miss(allowed_.row(), "the CPU affinity could not be read");
    }
    if (const auto quota = TightestCpuQuota(cgroup_)) {
      cores_.Put(sink, quota->cores);
    } else {
      Miss(cores_.row(), "no CPU quota is set");
    }
    if (const auto limit = TightestMemoryLimit(cgroup_)) {
      memory_.Put(sink, limit->bytes);
    } else {
      Miss(memory_.row(), "no memory limit is set");
    }
  }

 private:
  std::string root_;
  Cgroup cgroup_;
  Counter allowed_{Row("process.cores_allowed")};
  Counter cores_{Row("cgroup.cores")};
  Counter memory_{Row("cgroup.memory_limit")};
};

}  // namespace

std::optional<uint32_t> CoresOnline(const std::string& root) {
  const auto cores = ListSize(OnlineList(root));
  if (!cores || *cores == 0) return std::nullopt;
  return static_cast<uint32_t>(*cores);
}

std::optional<uint32_t> CoresAllowed(const std::string& root) {
  const std::string status = ReadOnce(Below(root, "/proc/self/status")).value_or("");
  const std::string allowed = TextBehind(status, "Cpus_allowed_list");
  const auto size = ListSize(allowed);
  if (!size || *size == 0) return std::nullopt;
  const std::string online = OnlineList(root);
  if (ListSize(online).value_or(0) == 0) return static_cast<uint32_t>(*size);
  uint32_t both = 0;
  for (uint64_t core = 0, left = *size; left > 0; ++core) {
    if (!ListHolds(allowed, core)) continue;
    --left;
    if (ListHolds(online, core)) ++both;
  }
  return both;
}

trace::HostInfo ReadHost(const std::string& root) {
  trace::HostInfo host;
  host.name = FirstLine(Below(root, "/proc/sys/kernel/hostname"));
  const std::string release = FirstLine(Below(root, "/proc/sys/kernel/osrelease"));
  if (!release.empty()) host.kernel = "Linux " + release;
  host.cpu = TextBehind(ReadOnce(Below(root, "/proc/cpuinfo")).value_or(""), "model name");
  host.cores_online = CoresOnline(root).value_or(0);
  host.cores_allowed = CoresAllowed(root).value_or(0);
  const std::string meminfo = ReadOnce(Below(root, "/proc/meminfo")).value_or("");
  host.memory_bytes = FindNumber(meminfo, "MemTotal").value_or(0) * 1024;

  const Cgroup cgroup = LocateCgroup(root);
  if (const auto quota = TightestCpuQuota(cgroup)) host.cgroup_cores = quota->cores;
  if (const auto limit = TightestMemoryLimit(cgroup)) host.memory_limit_bytes = limit->bytes;
  return host;
}

std::unique_ptr<Source> MakeLimits(const std::string& root) {
  return std::make_unique<Limits>(root);
}

}  // namespace stallscope::system
