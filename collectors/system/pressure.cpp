#include <unistd.h>

#include "analyzer/base/units.h"
#include "collectors/system/cgroup_tree.h"
#include "collectors/system/proc_file.h"
#include "collectors/system/sources.h"
#include "collectors/system/text_scan.h"

namespace stallscope::system {
namespace {

// A file such as
//   some avg10=0.00 avg60=0.00 avg300=0.00 total=19655796
//   full avg10=0.00 avg60=0.00 avg300=0.00 total=0
// The totals are microseconds. Kernels before 5.13 have no "full" line for the CPU.
std::optional<uint64_t> FindTotalNs(std::string_view text, std::string_view kind) {
  while (auto line = TakeLine(text)) {
    if (TakeWord(*line) != kind) continue;
    while (auto word = TakeWord(*line)) {
      constexpr std::string_view kKey = "total=";
      if (!word->starts_with(kKey)) continue;
      std::string_view digits = word->substr(kKey.size());
      const auto total = TakeNumber(digits);
      if (!total) return std::nullopt;
      return *total * static_cast<uint64_t>(kNsPerUs);
    }
  }
  return std::nullopt;
}

struct PressureFile {
  ProcFile file;
  Counter some;
  Counter full;
};

class Pressure : public Source {
 public:
  explicit Pressure(const std::string& root) : Source("pressure", 250 * kNsPerMs) {
    using namespace counter;  // NOLINT(google-build-using-namespace)
    Add(Below(root, "/proc/pressure/cpu"), kPsiCpuSome, kPsiCpuFull);
    Add(Below(root, "/proc/pressure/io"), kPsiIoSome, kPsiIoFull);
    Add(Below(root, "/proc/pressure/memory"), kPsiMemorySome, kPsiMemoryFull);

    const std::string group = LocateCgroup(root).unified;
    if (group.empty()) {
      MissGroup("this machine has no cgroup v2");
    } else if (access((group + "/cgroup.type").c_str(), F_OK) != 0) {
      MissGroup("the process is in the root cgroup: psi.* says the same");
    } else {
      Add(group + "/cpu.pressure", kCgroupPsiCpuSome, kCgroupPsiCpuFull);
      Add(group + "/io.pressure", kCgroupPsiIoSome, kCgroupPsiIoFull);
      Add(group + "/memory.pressure", kCgroupPsiMemorySome, kCgroupPsiMemoryFull);
    }
  }

  void Read(CounterSink& sink, Effort) override {
    for (PressureFile& each : files_) {
      const auto text = each.file.Read();
      PutTotal(sink, each.file, text, "some", each.some);
      PutTotal(sink, each.file, text, "full", each.full);
    }
  }

 private:
  void Add(std::string path, const CounterRow& some, const CounterRow& full) {
    files_.push_back({ProcFile(std::move(path), 512), Counter(some), Counter(full)});
  }

  void MissGroup(std::string_view reason) {
    using namespace counter;  // NOLINT(google-build-using-namespace)
    MissAll(reason, kCgroupPsiCpuSome, kCgroupPsiCpuFull, kCgroupPsiIoSome, kCgroupPsiIoFull,
            kCgroupPsiMemorySome, kCgroupPsiMemoryFull);
  }

  void PutTotal(CounterSink& sink, ProcFile& file, std::optional<std::string_view> text,
                std::string_view kind, Counter& counter) {
    if (text) {
      if (const auto total = FindTotalNs(*text, kind)) {
        counter.Put(sink, *total);
        return;
      }
      file.Damaged();
    }
    Miss(counter.row(), file);
  }

  std::vector<PressureFile> files_;
};

}  // namespace

std::unique_ptr<Source> MakePressure(const std::string& root) {
  return std::make_unique<Pressure>(root);
}

}  // namespace stallscope::system
