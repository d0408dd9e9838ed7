#include "collectors/system/cgroup.h"

#include <span>
#include <string_view>
#include <vector>

#include "analyzer/base/units.h"
#include "collectors/system/proc_file.h"

namespace stallscope::system {
namespace {

bool HasController(std::string_view list, std::string_view controller) {
  while (!list.empty()) {
    const size_t comma = list.find(',');
    if (list.substr(0, comma) == controller) return true;
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  return false;
}

// The path behind "4:memory:" in /proc/self/cgroup; for version 2, which is "0::", pass "".
std::optional<std::string> FindPath(std::string_view text, std::string_view controller) {
  while (const auto line = TakeLine(text)) {
    const size_t first = line->find(':');
    if (first == std::string_view::npos) continue;
    const size_t second = line->find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view list = line->substr(first + 1, second - first - 1);
    const bool wanted =
        controller.empty() ? line->starts_with("0::") : HasController(list, controller);
    if (wanted) return std::string(line->substr(second + 1));
  }
  return std::nullopt;
}

struct Mount {
  std::string root;   // the folder of the tree that is mounted
  std::string point;  // where
};

// A line of /proc/self/mountinfo:
//   35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
std::optional<Mount> FindMount(std::string_view text, std::string_view type,
                               std::string_view controller) {
  while (auto line = TakeLine(text)) {
    const size_t dash = line->find(" - ");
    if (dash == std::string_view::npos) continue;
    std::string_view behind = line->substr(dash + 3);
    if (TakeWord(behind) != type) continue;
    TakeWord(behind);  // the source
    const auto options = TakeWord(behind);
    if (!controller.empty() && (!options || !HasController(*options, controller))) continue;
    std::string_view front = line->substr(0, dash);
    for (int skipped = 0; skipped < 3; ++skipped) TakeWord(front);
    const auto root = TakeWord(front);
    const auto point = TakeWord(front);
    if (root && point) return Mount{std::string(*root), std::string(*point)};
  }
  return std::nullopt;
}

CgroupFolder Folder(const std::string& root, int version, const Mount& mount,
                    std::string_view path) {
  CgroupFolder folder{version, Below(root, mount.point), Below(root, mount.point)};
  // In a container that sees the host's path, the mount starts at the container's own group.
  if (mount.root != "/") {
    if (!path.starts_with(mount.root)) return folder;
    path.remove_prefix(mount.root.size());
    if (!path.empty() && path.front() != '/') return folder;  // another that only starts the same
  }
  // "/../x" is a group outside of what is mounted here.
  if (path.starts_with("/..") || path == "/" || path.empty()) return folder;
  folder.own += path;
  return folder;
}

// The group and all visible groups above it, from the inside out.
std::vector<std::string> UpTo(const CgroupFolder& folder) {
  std::vector<std::string> groups;
  for (std::string group = folder.own; group.size() > folder.top.size();
       group.resize(group.rfind('/'))) {
    groups.push_back(group);
  }
  if (folder.version != 0) groups.push_back(folder.top);
  return groups;
}

std::optional<double> QuotaCores(int version, const std::string& group) {
  std::optional<uint64_t> quota;
  std::optional<uint64_t> period;
  if (version == 2) {
    const auto text = ReadOnce(group + "/cpu.max");  // "max 100000" or "150000 100000"
    if (!text) return std::nullopt;
    std::string_view rest = *text;
    std::string_view line = TakeLine(rest).value_or(std::string_view());
    quota = TakeNumber(line);
    period = TakeNumber(line);
  } else {
    quota = OnlyNumber(ReadOnce(group + "/cpu.cfs_quota_us").value_or(""));  // -1: none
    period = OnlyNumber(ReadOnce(group + "/cpu.cfs_period_us").value_or(""));
  }
  if (!quota || !period || *period == 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

std::optional<uint64_t> MemoryBytes(int version, const std::string& group) {
  const auto text =
      ReadOnce(group + (version == 2 ? "/memory.max" : "/memory.limit_in_bytes")).value_or("");
  const auto bytes = OnlyNumber(text);                // "max" is no number
  constexpr uint64_t kUnlimited = uint64_t{1} << 60;  // version 1 says "none" with a huge number
  if (!bytes || *bytes >= kUnlimited) return std::nullopt;
  return bytes;
}

// One number of one file: behind a key, or alone in the file where the key is empty. Versions 1 and
// 2 differ in these only.
struct Field {
  const CounterRow* row;
  const char* file;
  const char* key;
  uint64_t factor;  // to the counter's unit
};

constexpr auto kUs = static_cast<uint64_t>(kNsPerUs);

constexpr Field kCpuV1[] = {{&Row("cgroup.periods"), "/cpu.stat", "nr_periods", 1},
                            {&Row("cgroup.throttled_periods"), "/cpu.stat", "nr_throttled", 1},
                            {&Row("cgroup.throttled"), "/cpu.stat", "throttled_time", 1}};
constexpr Field kCpuV2[] = {{&Row("cgroup.periods"), "/cpu.stat", "nr_periods", 1},
                            {&Row("cgroup.throttled_periods"), "/cpu.stat", "nr_throttled", 1},
                            {&Row("cgroup.throttled"), "/cpu.stat", "throttled_usec", kUs}};
constexpr Field kUsageV1[] = {{&Row("cgroup.cpu"), "/cpuacct.usage", "", 1}};
constexpr Field kUsageV2[] = {{&Row("cgroup.cpu"), "/cpu.stat", "usage_usec", kUs}};
constexpr Field kMemoryV1[] = {{&Row("cgroup.memory"), "/memory.usage_in_bytes", "", 1},
                               {&Row("cgroup.memory_full"), "/memory.failcnt", "", 1},
                               {&Row("cgroup.oom_kills"), "/memory.oom_control", "oom_kill", 1}};
constexpr Field kMemoryV2[] = {{&Row("cgroup.memory"), "/memory.current", "", 1},
                               {&Row("cgroup.memory_high"), "/memory.events", "high", 1},
                               {&Row("cgroup.memory_full"), "/memory.events", "max", 1},
                               {&Row("cgroup.oom_kills"), "/memory.events", "oom_kill", 1}};

class CgroupSource : public NumberSource {
 public:
  explicit CgroupSource(const std::string& root) : NumberSource("cgroup", 200 * kNsPerMs) {
    const Cgroup cgroup = LocateCgroup(root);
    // The group with the limit is the one whose throttling and filling count; it may lie above the
    // process's own.
    const auto quota = TightestCpuQuota(cgroup);
    const auto limit = TightestMemoryLimit(cgroup);
    const std::string cpu = quota ? quota->folder : cgroup.cpu.own;
    const std::string memory = limit ? limit->folder : cgroup.memory.own;
    AddGroup(cgroup.cpu.version, cpu, kCpuV1, kCpuV2);
    AddGroup(cgroup.cpuacct.version, cgroup.cpuacct.own, kUsageV1, kUsageV2);
    AddGroup(cgroup.memory.version, memory, kMemoryV1, kMemoryV2);
    if (cgroup.memory.version == 1) {
      Miss(Row("cgroup.memory_high"), "cgroup v1 has no memory.high");
    }
  }

 private:
  void AddGroup(int version, const std::string& folder, std::span<const Field> v1,
                std::span<const Field> v2) {
    for (const Field& field : version == 1 ? v1 : v2) {
      if (version == 0) {
        Miss(*field.row, "no control group with this controller is mounted");
      } else {
        Add(folder + field.file, *field.row, field.key, field.factor);
      }
    }
  }
};

}  // namespace

Cgroup LocateCgroup(const std::string& root) {
  Cgroup found;
  const std::string groups = ReadOnce(Below(root, "/proc/self/cgroup")).value_or("");
  const std::string mounts = ReadOnce(Below(root, "/proc/self/mountinfo")).value_or("");

  CgroupFolder unified;
  const auto unified_path = FindPath(groups, "");
  const auto unified_mount = FindMount(mounts, "cgroup2", "");
  if (unified_path && unified_mount) {
    unified = Folder(root, 2, *unified_mount, *unified_path);
    found.unified = unified.own;
  }
  // A controller belongs to one of the two versions; if it is version 1, its line names it.
  const auto locate = [&](std::string_view controller) {
    const auto path = FindPath(groups, controller);
    const auto mount = FindMount(mounts, "cgroup", controller);
    return path && mount ? Folder(root, 1, *mount, *path) : unified;
  };
  found.cpu = locate("cpu");
  found.cpuacct = locate("cpuacct");
  found.memory = locate("memory");
  return found;
}

std::optional<CpuQuota> TightestCpuQuota(const Cgroup& cgroup) {
  std::optional<CpuQuota> tightest;
  for (const std::string& group : UpTo(cgroup.cpu)) {
    const auto cores = QuotaCores(cgroup.cpu.version, group);
    if (cores && (!tightest || *cores < tightest->cores)) tightest = CpuQuota{*cores, group};
  }
  return tightest;
}

std::optional<MemoryLimit> TightestMemoryLimit(const Cgroup& cgroup) {
  std::optional<MemoryLimit> tightest;
  for (const std::string& group : UpTo(cgroup.memory)) {
    const auto bytes = MemoryBytes(cgroup.memory.version, group);
    if (bytes && (!tightest || *bytes < tightest->bytes)) tightest = MemoryLimit{*bytes, group};
  }
  return tightest;
}

std::unique_ptr<Source> MakeCgroup(const std::string& root) {
  return std::make_unique<CgroupSource>(root);
}

}  // namespace stallscope::system
