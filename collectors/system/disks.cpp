#include <unistd.h>

#include <algorithm>

#include "analyzer/base/units.h"
#include "collectors/system/proc_file.h"
#include "collectors/system/sources.h"
#include "collectors/system/text_scan.h"

namespace stallscope::system {
namespace {

constexpr size_t kMaxDisks = 32;
constexpr uint64_t kSectorBytes = 512;  // whatever the disk's own sector is

// A line of /proc/diskstats behind the name; times in milliseconds.
struct DiskTimes {
  uint64_t reads, reads_merged, sectors_read, read_ms;
  uint64_t writes, writes_merged, sectors_written, write_ms;
  uint64_t in_flight, busy_ms, queue_ms;
};

std::optional<DiskTimes> TakeDiskTimes(std::string_view line) {
  DiskTimes t;
  for (uint64_t* field :
       {&t.reads, &t.reads_merged, &t.sectors_read, &t.read_ms, &t.writes, &t.writes_merged,
        &t.sectors_written, &t.write_ms, &t.in_flight, &t.busy_ms, &t.queue_ms}) {
    const auto number = TakeNumber(line);
    if (!number) return std::nullopt;
    *field = *number;
  }
  return t;
}

struct Disk {
  explicit Disk(std::string_view disk_name, bool is_wanted)
      : name(disk_name),
        wanted(is_wanted),
        reads(counter::kDiskReads, disk_name),
        read_bytes(counter::kDiskReadBytes, disk_name),
        read_time(counter::kDiskReadTime, disk_name),
        write_bytes(counter::kDiskWriteBytes, disk_name),
        in_flight(counter::kDiskInFlight, disk_name),
        busy(counter::kDiskBusy, disk_name),
        queue_time(counter::kDiskQueueTime, disk_name) {}

  void Put(CounterSink& sink, const DiskTimes& times) {
    constexpr auto kMs = static_cast<uint64_t>(kNsPerMs);
    reads.Put(sink, times.reads);
    read_bytes.Put(sink, times.sectors_read * kSectorBytes);
    read_time.Put(sink, times.read_ms * kMs);
    write_bytes.Put(sink, times.sectors_written * kSectorBytes);
    in_flight.Put(sink, times.in_flight);
    busy.Put(sink, times.busy_ms * kMs);
    queue_time.Put(sink, times.queue_ms * kMs);
  }

  std::string name;
  bool wanted;  // of the others only the name is kept, so that each is looked up once
  Counter reads, read_bytes, read_time, write_bytes, in_flight, busy, queue_time;
};

class Disks : public Source {
 public:
  explicit Disks(const std::string& root)
      : Source("disks", 250 * kNsPerMs),
        file_(Below(root, "/proc/diskstats"), size_t{32} << 10),
        block_(Below(root, "/sys/block/")) {}

  void Read(CounterSink& sink, Effort) override {
    auto text = file_.Read();
    bool any = false;
    bool damaged = false;
    while (text) {
      auto line = TakeLine(*text);
      if (!line) break;
      const bool numbered = TakeNumber(*line) && TakeNumber(*line);  // major and minor
      const auto name = TakeWord(*line);
      const auto times = TakeDiskTimes(*line);
      damaged = damaged || !numbered || !name || !times;
      if (!numbered || !name || !times || times->reads + times->writes == 0) continue;
      if (Disk* disk = Find(*name)) {
        disk->Put(sink, *times);
        any = true;
      }
    }
    if (damaged) file_.Damaged();
    if (!any) MissEverything();
  }

 private:
  Disk* Find(std::string_view name) {
    auto found = std::find_if(disks_.begin(), disks_.end(),
                              [name](const Disk& disk) { return disk.name == name; });
    if (found == disks_.end()) {
      if (disks_.size() >= kMaxDisks * 16) return nullptr;  // mostly partitions
      disks_.emplace_back(name, wanted_ < kMaxDisks && IsWanted(name));
      found = disks_.end() - 1;
      if (found->wanted) ++wanted_;
    }
    return found->wanted ? &*found : nullptr;
  }

  // A whole disk has a folder in /sys/block; a partition, whose traffic is its disk's too, has not.
  bool IsWanted(std::string_view name) const {
    for (const char* no_disk : {"loop", "ram", "zram"}) {
      if (name.starts_with(no_disk)) return false;
    }
    return access((block_ + std::string(name)).c_str(), F_OK) == 0;
  }

  void MissEverything() {
    const auto miss = [this](const auto& reason) {
      using namespace counter;  // NOLINT(google-build-using-namespace)
      MissAll(reason, kDiskReads, kDiskReadBytes, kDiskReadTime, kDiskWriteBytes, kDiskInFlight,
              kDiskBusy, kDiskQueueTime);
    };
    if (file_.sound()) {
      miss(std::string_view("no block device has moved any data"));
    } else {
      miss(file_);
    }
  }

  ProcFile file_;
  std::string block_;
  size_t wanted_ = 0;
  std::vector<Disk> disks_;
};

}  // namespace

std::unique_ptr<Source> MakeDisks(const std::string& root) { return std::make_unique<Disks>(root); }

}  // namespace stallscope::system
