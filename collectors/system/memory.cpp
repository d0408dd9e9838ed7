#include <unistd.h>

#include "analyzer/base/units.h"
#include "collectors/system/proc_file.h"
#include "collectors/system/sources.h"
#include "collectors/system/text_scan.h"

namespace stallscope::system {
namespace {

class Memory : public Source {
 public:
  explicit Memory(const std::string& root)
      : Source("memory", 50 * kNsPerMs),
        statm_(Below(root, "/proc/self/statm"), 256),
        page_(static_cast<uint64_t>(sysconf(_SC_PAGESIZE))) {}

  // statm and not smaps_rollup, which walks every page and takes milliseconds.
  void Read(CounterSink& sink, Effort) override {
    if (auto text = statm_.Read()) {
      auto line = TakeLine(*text).value_or(std::string_view());
      const auto size = TakeNumber(line);
      const auto resident = TakeNumber(line);
      const auto shared = TakeNumber(line);
      if (size && resident && shared) {
        rss_.Put(sink, *resident * page_);
        file_backed_.Put(sink, *shared * page_);
        return;
      }
      statm_.Damaged();
    }
    MissAll(statm_, rss_.row(), file_backed_.row());
  }

 private:
  ProcFile statm_;
  uint64_t page_;
  Counter rss_{counter::kMemoryRss};
  Counter file_backed_{counter::kMemoryFileBacked};
};

class MemoryState : public Source {
 public:
  explicit MemoryState(const std::string& root)
      : Source("memory state", kNsPerSecond),
        status_(Below(root, "/proc/self/status")),
        meminfo_(Below(root, "/proc/meminfo")) {}

  // The kernel keeps the peak, so nothing is lost between two readings. It is not getrusage()'s,
  // which remembers the peak of the program that started this one.
  void Read(CounterSink& sink, Effort) override {
    const auto status = status_.Read();
    PutKilobytes(sink, status_, status, "VmHWM", peak_);
    PutKilobytes(sink, status_, status, "VmSwap", swapped_);
    PutKilobytes(sink, meminfo_, meminfo_.Read(), "MemAvailable", available_);
  }

 private:
  void PutKilobytes(CounterSink& sink, ProcFile& file, std::optional<std::string_view> text,
                    std::string_view key, Counter& counter) {
    if (text) {
      if (const auto kilobytes = FindNumber(*text, key)) {
        counter.Put(sink, *kilobytes * 1024);
        return;
      }
      file.Damaged();
    }
    Miss(counter.row(), file);
  }

  ProcFile status_;
  ProcFile meminfo_;
  Counter peak_{counter::kMemoryPeak};
  Counter swapped_{counter::kMemorySwapped};
  Counter available_{counter::kMemoryAvailable};
};

}  // namespace

std::unique_ptr<Source> MakeMemory(const std::string& root) {
  return std::make_unique<Memory>(root);
}
std::unique_ptr<Source> MakeMemoryState(const std::string& root) {
  return std::make_unique<MemoryState>(root);
}

}  // namespace stallscope::system
