#include "collectors/system/threads.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <unordered_map>

#include "analyzer/base/units.h"
#include "collectors/system/proc_file.h"

namespace stallscope::system {
namespace {

// A program may have many threads: the time, descriptors and names spent on them are bounded.
constexpr int kRoundUnits = 12;         // of a bounded reading; a unit is about a microsecond
constexpr int kReadUnits = 1;           // a pread
constexpr int kOpenUnits = 6;           // an open, pread and close
constexpr size_t kMaxThreads = 4096;    // that are followed at a time
constexpr size_t kMaxOpen = 128;        // descriptors kept: the program needs some of its limit
constexpr size_t kMaxWithNames = 1024;  // that get counters of their own, in the whole recording

struct Thread {
  int fd = -1;  // of its schedstat, where it is kept open
  uint64_t run_wait = 0;
  uint64_t seen_in_cycle = 0;
  struct ThreadCounters* counters = nullptr;  // null where it has none of its own
};

// Outlives its thread: where its id is reused the counter continues, and decreases once.
struct ThreadCounters {
  Counter on_cpu;
  Counter run_wait;
};

// Iterates over the names in a folder, a few at a time, forever. readdir() would fill a buffer of
// 32 KiB at once: a thousand threads.
class FolderWalk {
 public:
  explicit FolderWalk(const std::string& path)
      : fd_(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)), error_(fd_ < 0 ? errno : 0) {}
  ~FolderWalk() {
    if (fd_ >= 0) close(fd_);
  }
  FolderWalk(const FolderWalk&) = delete;
  FolderWalk& operator=(const FolderWalk&) = delete;

  int fd() const { return fd_; }
  int error() const { return error_; }
  // The next name; empty at the end of the folder, after which the walk starts over.
  std::string_view Next() {
    if (at_ == end_) {
      const ssize_t got = fd_ < 0 ? -1 : getdents64(fd_, buffer_, sizeof buffer_);
      if (got <= 0) {
        Restart();
        return {};
      }
      at_ = 0;
      end_ = static_cast<size_t>(got);
    }
    const char* const entry = buffer_ + at_;
    unsigned short length;
    std::memcpy(&length, entry + offsetof(dirent64, d_reclen), sizeof length);
    at_ += length;
    return entry + offsetof(dirent64, d_name);
  }
  void Restart() {
    at_ = end_ = 0;
    if (fd_ >= 0) lseek(fd_, 0, SEEK_SET);
  }

 private:
  int fd_;
  int error_;
  size_t at_ = 0;
  size_t end_ = 0;
  alignas(8) char buffer_[512];  // some twenty threads; never less than one name of 255 bytes
};

class Threads : public Source {
 public:
  explicit Threads(const std::string& root)
      : Source("threads", 100 * kNsPerMs), folder_(Below(root, "/proc/self/task")), walk_(folder_) {
    threads_.reserve(256);
  }
  ~Threads() override {
    for (auto& [tid, thread] : threads_) Close(thread);
  }

  void Read(CounterSink& sink, Effort effort) override {
    if (walk_.error() != 0) {
      if (absences().empty()) MissFolder();
      return;
    }
    const bool complete = effort == Effort::kComplete;
    if (complete) StartCycle();
    for (int units = kRoundUnits; complete || units > 0;) {
      const std::string_view name = walk_.Next();
      if (name.empty()) {
        EndCycle(sink);
        break;  // never twice around in one reading
      }
      std::string_view digits = name;
      if (const auto tid = TakeNumber(digits)) units -= ReadThread(sink, *tid);
    }
    if (any_) {
      total_.Put(sink, total_ns_);
    } else {
      const std::string_view reason = damaged_ ? "schedstat has an unknown format"
                                               : "the kernel provides no schedstat for threads";
      MissAll(reason, Row("process.run_wait"), Row("thread<tid>.on_cpu"),
              Row("thread<tid>.run_wait"));
    }
  }

 private:
  void MissFolder() {
    MissAll(std::string_view(folder_ + ": " + std::strerror(walk_.error())),
            Row("process.run_wait"), Row("process.threads"), Row("thread<tid>.on_cpu"),
            Row("thread<tid>.run_wait"));
  }

  void StartCycle() {
    walk_.Restart();
    seen_ = 0;
    ++cycle_;
  }

  // Forgets the threads that are gone.
  void EndCycle(CounterSink& sink) {
    for (auto it = threads_.begin(); it != threads_.end();) {
      if (it->second.seen_in_cycle == cycle_) {
        ++it;
        continue;
      }
      Close(it->second);
      it = threads_.erase(it);
    }
    count_.Put(sink, seen_);
    StartCycle();
  }

  // Returns the cost, in units.
  int ReadThread(CounterSink& sink, uint64_t tid) {
    ++seen_;
    auto found = threads_.find(tid);
    if (found == threads_.end()) {
      if (threads_.size() >= kMaxThreads) {
        Miss(Row("thread<tid>.run_wait"), "more than 4096 threads: only some are tracked");
        return kReadUnits;
      }
      found = threads_.try_emplace(tid).first;
      found->second.counters = CountersOf(tid);
    }
    Thread& thread = found->second;
    thread.seen_in_cycle = cycle_;
    if (thread.fd >= 0) {
      if (!ReadTimes(sink, thread, thread.fd)) Close(thread);  // it has ended
      return kReadUnits;
    }
    char path[64];
    std::snprintf(path, sizeof path, "%llu/schedstat", static_cast<unsigned long long>(tid));
    const int fd = openat(walk_.fd(), path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return kOpenUnits;
    if (ReadTimes(sink, thread, fd) && open_ < kMaxOpen) {
      thread.fd = fd;
      ++open_;
    } else {
      close(fd);
    }
    return kOpenUnits;
  }

  void Close(Thread& thread) {
    if (thread.fd < 0) return;
    close(thread.fd);
    thread.fd = -1;
    --open_;
  }

  ThreadCounters* CountersOf(uint64_t tid) {
    auto found = counters_.find(tid);
    if (found == counters_.end()) {
      if (counters_.size() >= kMaxWithNames) {
        Miss(Row("thread<tid>.on_cpu"), "only the first 1024 threads have counters of their own");
        return nullptr;
      }
      const std::string name = std::to_string(tid);
      found = counters_
                  .try_emplace(tid, ThreadCounters{Counter(Row("thread<tid>.on_cpu"), name),
                                                   Counter(Row("thread<tid>.run_wait"), name)})
                  .first;
    }
    return &found->second;
  }

  bool ReadTimes(CounterSink& sink, Thread& thread, int fd) {
    char text[128];
    const ssize_t got = pread(fd, text, sizeof text, 0);
    if (got < 0) return false;
    std::string_view rest(text, static_cast<size_t>(got));
    auto line = TakeLine(rest).value_or(std::string_view());
    const auto on_cpu = TakeNumber(line);
    const auto run_wait = TakeNumber(line);
    if (!on_cpu || !run_wait) {
      damaged_ = true;
      return false;
    }
    // A value that decreased is a new thread under a reused id.
    total_ns_ += *run_wait - (*run_wait >= thread.run_wait ? thread.run_wait : 0);
    thread.run_wait = *run_wait;
    any_ = true;
    if (thread.counters != nullptr) {
      thread.counters->on_cpu.Put(sink, *on_cpu);
      thread.counters->run_wait.Put(sink, *run_wait);
    }
    return true;
  }

  std::string folder_;
  FolderWalk walk_;
  std::unordered_map<uint64_t, Thread> threads_;
  std::unordered_map<uint64_t, ThreadCounters> counters_;
  size_t open_ = 0;
  uint64_t cycle_ = 1;
  uint64_t seen_ = 0;
  uint64_t total_ns_ = 0;
  bool any_ = false;      // some thread could be read
  bool damaged_ = false;  // or its text was not understood
  Counter total_{Row("process.run_wait")};
  Counter count_{Row("process.threads")};
};

}  // namespace

std::unique_ptr<Source> MakeThreads(const std::string& root) {
  return std::make_unique<Threads>(root);
}

}  // namespace stallscope::system
