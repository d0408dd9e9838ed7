#include "collectors/system/kernel_sources.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "analyzer/base/units.h"
#include "collectors/system/cgroup.h"
#include "collectors/system/host.h"
#include "collectors/system/threads.h"

namespace stallscope::system {
namespace {

double Ns(const timeval& time) {
  return static_cast<double>(int64_t{time.tv_sec} * kNsPerSecond +
                             int64_t{time.tv_usec} * kNsPerUs);
}

class Process : public Source {
 public:
  Process() : Source("process", 50 * kNsPerMs) {}

  void Read(CounterSink& sink, Effort) override {
    rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0) {
      MissAll("getrusage() failed", user_.row(), system_.row(), minor_.row(), major_.row(),
              voluntary_.row(), involuntary_.row());
      return;
    }
    user_.Put(sink, Ns(usage.ru_utime));
    system_.Put(sink, Ns(usage.ru_stime));
    minor_.Put(sink, static_cast<double>(usage.ru_minflt));
    major_.Put(sink, static_cast<double>(usage.ru_majflt));
    voluntary_.Put(sink, static_cast<double>(usage.ru_nvcsw));
    involuntary_.Put(sink, static_cast<double>(usage.ru_nivcsw));
  }

 private:
  Counter user_{Row("process.cpu_user")};
  Counter system_{Row("process.cpu_system")};
  Counter minor_{Row("process.faults_minor")};
  Counter major_{Row("process.faults_major")};
  Counter voluntary_{Row("process.switches_voluntary")};
  Counter involuntary_{Row("process.switches_involuntary")};
};

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
  Counter rss_{Row("memory.rss")};
  Counter file_backed_{Row("memory.file_backed")};
};

class MachineMemory : public NumberSource {
 public:
  explicit MachineMemory(const std::string& root, std::string name = "machine memory")
      : NumberSource(std::move(name), kNsPerSecond) {
    Add(Below(root, "/proc/meminfo"), Row("memory.available"), "MemAvailable", 1024);
  }
};

class MemoryState : public MachineMemory {
 public:
  // The kernel keeps the peak, so nothing is lost between two readings. It is not getrusage()'s,
  // which remembers the peak of the program that started this one.
  explicit MemoryState(const std::string& root) : MachineMemory(root, "memory state") {
    const std::string status = Below(root, "/proc/self/status");
    Add(status, Row("memory.peak"), "VmHWM", 1024);
    Add(status, Row("memory.swapped"), "VmSwap", 1024);
  }
};

class Io : public NumberSource {
 public:
  explicit Io(const std::string& root) : NumberSource("io", 50 * kNsPerMs) {
    const std::string io = Below(root, "/proc/self/io");
    Add(io, Row("io.requested"), "rchar");
    Add(io, Row("io.from_disk"), "read_bytes");
    Add(io, Row("io.written"), "wchar");
    Add(io, Row("io.to_disk"), "write_bytes");
    Add(io, Row("io.read_calls"), "syscr");
    Add(io, Row("io.write_calls"), "syscw");
  }
};

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

// A line per core of at most ten numbers of twenty digits; the interrupt counts after them are cut
// off.
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
      MissAll(file_, Row("cpu.busy"), Row("cpu.iowait"), Row("cpu.steal"), Row("core<n>.busy"),
              Row("core<n>.iowait"), Row("core<n>.steal"));
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
      cores_.push_back({Counter(Row("core<n>.busy"), name), Counter(Row("core<n>.iowait"), name),
                        Counter(Row("core<n>.steal"), name)});
    }
    cores_[*number].Put(sink, *times, ns_per_tick_);
    return true;
  }

  ProcFile file_;
  double ns_per_tick_;
  CoreCounters all_{Counter(Row("cpu.busy")), Counter(Row("cpu.iowait")),
                    Counter(Row("cpu.steal"))};
  std::vector<CoreCounters> cores_;
};

// A file such as
//   some avg10=0.00 avg60=0.00 avg300=0.00 total=19655796
//   full avg10=0.00 avg60=0.00 avg300=0.00 total=0
// The totals are microseconds. Kernels before 5.13 have no "full" line for the CPU.
std::optional<uint64_t> FindTotal(std::string_view text, std::string_view kind) {
  while (auto line = TakeLine(text)) {
    if (TakeWord(*line) != kind) continue;
    while (auto word = TakeWord(*line)) {
      constexpr std::string_view kKey = "total=";
      if (!word->starts_with(kKey)) continue;
      std::string_view digits = word->substr(kKey.size());
      return TakeNumber(digits);
    }
  }
  return std::nullopt;
}

class Pressure : public NumberSource {
 public:
  explicit Pressure(const std::string& root) : NumberSource("pressure", 250 * kNsPerMs) {
    AddFile(Below(root, "/proc/pressure/cpu"), Row("psi.cpu.some"), Row("psi.cpu.full"));
    AddFile(Below(root, "/proc/pressure/io"), Row("psi.io.some"), Row("psi.io.full"));
    AddFile(Below(root, "/proc/pressure/memory"), Row("psi.memory.some"), Row("psi.memory.full"));

    const std::string group = LocateCgroup(root).unified;
    if (group.empty()) {
      MissGroup("this machine has no cgroup v2");
    } else if (access((group + "/cgroup.type").c_str(), F_OK) != 0) {
      MissGroup("the process is in the root cgroup: see psi.*");
    } else {
      AddFile(group + "/cpu.pressure", Row("cgroup.psi.cpu.some"), Row("cgroup.psi.cpu.full"));
      AddFile(group + "/io.pressure", Row("cgroup.psi.io.some"), Row("cgroup.psi.io.full"));
      AddFile(group + "/memory.pressure", Row("cgroup.psi.memory.some"),
              Row("cgroup.psi.memory.full"));
    }
  }

 private:
  void AddFile(const std::string& path, const CounterRow& some, const CounterRow& full) {
    constexpr auto kFactor = static_cast<uint64_t>(kNsPerUs);
    Add(path, some, "some", kFactor, FindTotal);
    Add(path, full, "full", kFactor, FindTotal);
  }

  void MissGroup(std::string_view reason) {
    MissAll(reason, Row("cgroup.psi.cpu.some"), Row("cgroup.psi.cpu.full"),
            Row("cgroup.psi.io.some"), Row("cgroup.psi.io.full"), Row("cgroup.psi.memory.some"),
            Row("cgroup.psi.memory.full"));
  }
};

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
        reads(Row("disk.<disk>.reads"), disk_name),
        read_bytes(Row("disk.<disk>.read_bytes"), disk_name),
        read_time(Row("disk.<disk>.read_time"), disk_name),
        write_bytes(Row("disk.<disk>.write_bytes"), disk_name),
        in_flight(Row("disk.<disk>.in_flight"), disk_name),
        busy(Row("disk.<disk>.busy"), disk_name),
        queue_time(Row("disk.<disk>.queue_time"), disk_name) {}

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
  bool wanted;  // for others only the name is kept, so that each is looked up once
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
      MissAll(reason, Row("disk.<disk>.reads"), Row("disk.<disk>.read_bytes"),
              Row("disk.<disk>.read_time"), Row("disk.<disk>.write_bytes"),
              Row("disk.<disk>.in_flight"), Row("disk.<disk>.busy"), Row("disk.<disk>.queue_time"));
    };
    if (file_.sound()) {
      miss(std::string_view("no block device has transferred any data"));
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

std::unique_ptr<Source> MakeProcess() { return std::make_unique<Process>(); }

std::unique_ptr<Source> MakeMemory(const std::string& root) {
  return std::make_unique<Memory>(root);
}
std::unique_ptr<Source> MakeMemoryState(const std::string& root) {
  return std::make_unique<MemoryState>(root);
}

std::unique_ptr<Source> MakeIo(const std::string& root) { return std::make_unique<Io>(root); }

std::unique_ptr<Source> MakeCores(const std::string& root) { return std::make_unique<Cores>(root); }

std::unique_ptr<Source> MakePressure(const std::string& root) {
  return std::make_unique<Pressure>(root);
}

std::unique_ptr<Source> MakeDisks(const std::string& root) { return std::make_unique<Disks>(root); }

namespace {

void AddMachineSources(const std::string& root, std::vector<std::unique_ptr<Source>>& sources) {
  sources.push_back(MakeCgroup(root));
  sources.push_back(MakeCores(root));
  sources.push_back(MakePressure(root));
  sources.push_back(MakeDisks(root));
}

}  // namespace

std::vector<std::unique_ptr<Source>> MakeKernelSources(const std::string& root) {
  std::vector<std::unique_ptr<Source>> sources;
  sources.push_back(MakeProcess());
  sources.push_back(MakeMemory(root));
  sources.push_back(MakeIo(root));
  sources.push_back(MakeThreads(root));
  AddMachineSources(root, sources);
  sources.push_back(MakeMemoryState(root));
  sources.push_back(MakeLimits(root));
  return sources;
}

std::vector<std::unique_ptr<Source>> MakeMachineSources(const std::string& root) {
  std::vector<std::unique_ptr<Source>> sources;
  AddMachineSources(root, sources);
  sources.push_back(std::make_unique<MachineMemory>(root));
  sources.push_back(MakeLimits(root));
  return sources;
}

}  // namespace stallscope::system
