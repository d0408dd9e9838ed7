#include "analyzer/base/units.h"
#include "collectors/system/cgroup_tree.h"
#include "collectors/system/proc_file.h"
#include "collectors/system/sources.h"
#include "collectors/system/text_scan.h"

namespace stallscope::system {
namespace {

// One number of one file: behind a key, or alone in the file where the key is empty. Versions 1 and
// 2 differ in these only.
struct Field {
  const CounterRow* row;
  const char* file;
  const char* key;
  uint64_t factor;  // to the counter's unit
};

constexpr auto kUs = static_cast<uint64_t>(kNsPerUs);

constexpr Field kCpuV1[] = {{&counter::kCgroupPeriods, "/cpu.stat", "nr_periods", 1},
                            {&counter::kCgroupThrottledPeriods, "/cpu.stat", "nr_throttled", 1},
                            {&counter::kCgroupThrottled, "/cpu.stat", "throttled_time", 1}};
constexpr Field kCpuV2[] = {{&counter::kCgroupPeriods, "/cpu.stat", "nr_periods", 1},
                            {&counter::kCgroupThrottledPeriods, "/cpu.stat", "nr_throttled", 1},
                            {&counter::kCgroupThrottled, "/cpu.stat", "throttled_usec", kUs}};
constexpr Field kUsageV1[] = {{&counter::kCgroupCpu, "/cpuacct.usage", "", 1}};
constexpr Field kUsageV2[] = {{&counter::kCgroupCpu, "/cpu.stat", "usage_usec", kUs}};
constexpr Field kMemoryV1[] = {{&counter::kCgroupMemory, "/memory.usage_in_bytes", "", 1},
                               {&counter::kCgroupMemoryFull, "/memory.failcnt", "", 1},
                               {&counter::kCgroupOomKills, "/memory.oom_control", "oom_kill", 1}};
constexpr Field kMemoryV2[] = {{&counter::kCgroupMemory, "/memory.current", "", 1},
                               {&counter::kCgroupMemoryHigh, "/memory.events", "high", 1},
                               {&counter::kCgroupMemoryFull, "/memory.events", "max", 1},
                               {&counter::kCgroupOomKills, "/memory.events", "oom_kill", 1}};

class CgroupSource : public Source {
 public:
  explicit CgroupSource(const std::string& root) : Source("cgroup", 200 * kNsPerMs) {
    const Cgroup cgroup = LocateCgroup(root);
    // The group with the limit is the one whose throttling and filling count; it may lie above the
    // process's own.
    const auto quota = TightestCpuQuota(cgroup);
    const auto limit = TightestMemoryLimit(cgroup);
    const std::string cpu = quota ? quota->folder : cgroup.cpu.own;
    const std::string memory = limit ? limit->folder : cgroup.memory.own;
    Add(cgroup.cpu.version, cpu, kCpuV1, kCpuV2);
    Add(cgroup.cpuacct.version, cgroup.cpuacct.own, kUsageV1, kUsageV2);
    Add(cgroup.memory.version, memory, kMemoryV1, kMemoryV2);
    if (cgroup.memory.version == 1) {
      Miss(counter::kCgroupMemoryHigh, "cgroup v1 has no memory.high");
    }
  }

  void Read(CounterSink& sink, Effort) override {
    for (OpenFile& open : files_) {
      const auto text = open.file.Read();
      for (OpenField& field : open.fields) PutField(sink, open.file, text, field);
    }
  }

 private:
  struct OpenField {
    const char* key;
    uint64_t factor;
    Counter counter;
  };
  struct OpenFile {
    std::string path;
    ProcFile file;
    std::vector<OpenField> fields;
  };

  void Add(int version, const std::string& folder, std::span<const Field> v1,
           std::span<const Field> v2) {
    for (const Field& field : version == 1 ? v1 : v2) {
      if (version == 0) {
        Miss(*field.row, "no control group of this kind is mounted");
        continue;
      }
      const std::string path = folder + field.file;
      if (files_.empty() || files_.back().path != path) {
        files_.push_back({path, ProcFile(path), {}});
      }
      files_.back().fields.push_back({field.key, field.factor, Counter(*field.row)});
    }
  }

  void PutField(CounterSink& sink, ProcFile& file, std::optional<std::string_view> text,
                OpenField& field) {
    if (text) {
      const std::string_view key = field.key;
      const auto value = key.empty() ? OnlyNumber(*text) : FindNumber(*text, key);
      if (value) {
        field.counter.Put(sink, *value * field.factor);
        return;
      }
      file.Damaged();
    }
    Miss(field.counter.row(), file);
  }

  std::vector<OpenFile> files_;
};

}  // namespace

std::unique_ptr<Source> MakeCgroup(const std::string& root) {
  return std::make_unique<CgroupSource>(root);
}

}  // namespace stallscope::system
