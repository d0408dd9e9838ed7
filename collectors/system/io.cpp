#include "analyzer/base/units.h"
#include "collectors/system/proc_file.h"
#include "collectors/system/sources.h"
#include "collectors/system/text_scan.h"

namespace stallscope::system {
namespace {

class Io : public Source {
 public:
  explicit Io(const std::string& root)
      : Source("io", 50 * kNsPerMs), file_(Below(root, "/proc/self/io"), 512) {}

  void Read(CounterSink& sink, Effort) override {
    const auto text = file_.Read();
    for (Field& field : fields_) {
      const auto value = text ? FindNumber(*text, field.key) : std::nullopt;
      if (value) {
        field.counter.Put(sink, *value);
        continue;
      }
      if (text) file_.Damaged();
      Miss(field.counter.row(), file_);
    }
  }

 private:
  struct Field {
    const char* key;
    Counter counter;
  };
  ProcFile file_;
  Field fields_[6] = {
      {"rchar", Counter(counter::kIoRequested)}, {"read_bytes", Counter(counter::kIoFromDisk)},
      {"wchar", Counter(counter::kIoWritten)},   {"write_bytes", Counter(counter::kIoToDisk)},
      {"syscr", Counter(counter::kIoReadCalls)}, {"syscw", Counter(counter::kIoWriteCalls)}};
};

}  // namespace

std::unique_ptr<Source> MakeIo(const std::string& root) { return std::make_unique<Io>(root); }

}  // namespace stallscope::system
