// Which processes a job has, what they use, and how long their threads wait for a core.
//
// From the kernel's files, so that the job pays nothing for it but the cores that it takes to read
// them. Threads that record are read at every beat (40 ms): their own clocks show when they were on
// a core, and these counters how long they waited for one. The threads of a tf.data pipeline have
// no other clock: with one in the job a beat is 20 ms, and their sum is a counter of the process.
// Processes are read ten times a second, less often where there are many. They are found as
// descendants of the first one and by what they put into the session; one that is neither (a daemon
// without rings) is not seen. The counters `process.*`, `memory.*` and `io.*` are the job's sums,
// ended processes included. Memory that processes share counts once, in equal parts, for forked
// workers have their parent's; mapped files do not count. One thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "collectors/job/job_names.h"
#include "collectors/recorder/recorder.h"
#include "collectors/system/proc_file.h"
#include "collectors/system/source.h"

namespace stallscope::job {

// /proc/<pid>/stat.
struct ProcessState {
  recorder::ProcessKey key;
  char state = '?';
  uint64_t parent = 0;
  uint64_t faults_minor = 0;
  uint64_t faults_major = 0;
  uint64_t user_ns = 0;
  uint64_t system_ns = 0;
  uint64_t threads = 0;
  uint64_t rss_bytes = 0;
  std::string command;  // at most 15 bytes of its name
  bool alive() const { return state != 'Z' && state != 'X'; }
};
std::optional<ProcessState> ReadProcess(uint64_t pid);

class JobSampler {
 public:
  static constexpr int64_t kBeatNs = 20'000'000;
  static constexpr int64_t kCalmBeatNs = 40'000'000;

  // Both must outlive the object.
  JobSampler(recorder::Recorder& recorder, JobNames& names);
  ~JobSampler();
  JobSampler(const JobSampler&) = delete;
  JobSampler& operator=(const JobSampler&) = delete;

  // The job's first process.
  void Begin(pid_t root);
  // A thread that has a ring.
  void Follow(const JobProcess& process, uint64_t tid);
  // Once a beat. `last`: everything.
  void Sample(bool last = false);
  // Until the next beat.
  int64_t beat_ns() const { return pools_ ? kBeatNs : kCalmBeatNs; }

  // Processes that are known to have ended since the last call.
  std::vector<recorder::ProcessKey> TakeEnded();
  // Whether a process with rings is still there.
  bool AnyAlive() const;

 private:
  struct Usage {
    uint64_t user_ns = 0, system_ns = 0, faults_minor = 0, faults_major = 0;
    uint64_t requested = 0, from_disk = 0, written = 0, to_disk = 0, read_calls = 0,
             write_calls = 0;
    void Add(const Usage& other);
  };
  struct Process;
  struct Thread;
  class Sink;

  void SampleThreads(bool all);
  bool MayHaveNew();
  void ReadShares();
  void ReadShare(Process& process);
  void SampleProcesses();
  void FollowPool(Process& process);
  void Follow(const JobProcess& process, uint64_t tid, Process* pool);
  void Discover();
  void LookAt(uint64_t pid, std::vector<uint64_t>& to_look_at);
  bool ReadOne(Process& process);
  void PutSums(uint64_t rss, uint64_t threads);

  JobNames& names_;
  std::unique_ptr<Sink> sink_;
  recorder::ProcessKey root_;
  std::map<recorder::ProcessKey, std::unique_ptr<Process>> processes_;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::set<std::pair<recorder::ProcessKey, uint64_t>> followed_;  // the same, by process and thread
  std::vector<recorder::ProcessKey> ended_;
  size_t next_thread_ = 0;
  size_t threads_named_ = 0;
  std::optional<uint64_t> last_pid_;  // that the kernel had given away at the last look
  size_t processes_named_ = 0;
  int64_t next_processes_ns_ = 0;
  size_t shared_among_ = 0;     // processes, at the last look
  size_t shares_due_ = 0;       // processes that this look has not come to
  int64_t shares_cost_ns_ = 0;  // of this look
  int64_t next_shares_ns_ = 0;
  int64_t next_new_shares_ns_ = 0;
  size_t alive_ = 0;  // processes
  bool pools_ = false;
  system::ProcFile loadavg_{"/proc/loadavg"};
  Usage of_ended_;
  uint64_t peak_rss_ = 0;
  std::unique_ptr<struct SumCounters> sums_;
};

}  // namespace stallscope::job
