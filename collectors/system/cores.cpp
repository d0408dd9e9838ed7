#include <unistd.h>

#include <algorithm>

#include "analyzer/base/units.h"
#include "collectors/system/proc_file.h"
#include "collectors/system/sources.h"
#include "collectors/system/text_scan.h"

namespace stallscope::system {
namespace {

constexpr size_t kMaxCores = 1024;

// One line "cpu3 ..." of /proc/stat, in the kernel's ticks. Guest time is part of user time.
struct Times {
  uint64_t busy = 0;
  uint64_t iowait = 0;
  uint64_t steal = 0;
};

std::optional<Times> TakeTimes(std::string_view line) {
  enum { kUser, kNice, kSystem, kIdle, kIowait, kIrq, kSoftirq, kSteal, kFields };
  uint64_t fields[kFields];
  for (uint64_t& field : fields) {
    const auto number = TakeNumber(line);
    if (!number) return std::nullopt;
    field = *number;
  }
  return Times{fields[kUser] + fields[kNice] + fields[kSystem] + fields[kIrq] + fields[kSoftirq],
               fields[kIowait], fields[kSteal]};
}

struct CoreCounters {
  Counter busy;
  Counter iowait;
  Counter steal;

  void Put(CounterSink& sink, const Times& times, double ns_per_tick) {
    busy.Put(sink, static_cast<double>(times.busy) * ns_per_tick);
    iowait.Put(sink, static_cast<double>(times.iowait) * ns_per_tick);
    steal.Put(sink, static_cast<double>(times.steal) * ns_per_tick);
  }
};

// A line of at most ten numbers of twenty digits a core; interrupt counts behind them are cut off.
size_t Capacity() {
  const long cores = sysconf(_SC_NPROCESSORS_CONF);
  return 4096 + 224 * std::clamp<size_t>(cores > 0 ? static_cast<size_t>(cores) : 1, 1, kMaxCores);
}

class Cores : public Source {
 public:
  explicit Cores(const std::string& root)
      : Source("cores", 200 * kNsPerMs),
        file_(Below(root, "/proc/stat"), Capacity()),
        ns_per_tick_(static_cast<double>(kNsPerSecond) /
                     static_cast<double>(sysconf(_SC_CLK_TCK))) {}

  void Read(CounterSink& sink, Effort) override {
    bool any = false;
    if (auto text = file_.Read()) {
      while (auto line = TakeLine(*text)) {
        if (!line->starts_with("cpu")) break;
        any = PutLine(sink, *line) || any;
      }
      if (!any) file_.Damaged();
    }
    if (!any) {
      using namespace counter;  // NOLINT(google-build-using-namespace)
      MissAll(file_, kCpuBusy, kCpuIowait, kCpuSteal, kCoreBusy, kCoreIowait, kCoreSteal);
    }
  }

 private:
  bool PutLine(CounterSink& sink, std::string_view line) {
    const std::string_view label = *TakeWord(line);
    const auto times = TakeTimes(line);
    if (!times) return false;
    if (label == "cpu") {
      all_.Put(sink, *times, ns_per_tick_);
      return true;
    }
    std::string_view digits = label.substr(3);
    const auto number = TakeNumber(digits);
    if (!number || *number >= kMaxCores) return false;
    while (cores_.size() <= *number) {
      const std::string name = std::to_string(cores_.size());
      cores_.push_back({Counter(counter::kCoreBusy, name), Counter(counter::kCoreIowait, name),
                        Counter(counter::kCoreSteal, name)});
    }
    cores_[*number].Put(sink, *times, ns_per_tick_);
    return true;
  }

  ProcFile file_;
  double ns_per_tick_;
  CoreCounters all_{Counter(counter::kCpuBusy), Counter(counter::kCpuIowait),
                    Counter(counter::kCpuSteal)};
  std::vector<CoreCounters> cores_;
};

}  // namespace

std::unique_ptr<Source> MakeCores(const std::string& root) { return std::make_unique<Cores>(root); }

}  // namespace stallscope::system
