// Who works on what, in files beside the sweep: several processes, on several hosts, share one
// sweep without talking to each other.
//
// A lease is a file that names its owner. One whose owner is gone is free again: on this host the
// owner's process is looked up, on another one the owner must have touched its lease within
// kLeaseSeconds, by the clock of the file system. Every call but Refresh must be made under the
// sweep file's lock. One thread at a time.
#ifndef STALLSCOPE_REPLAY_SWEEP_LEASES_H_
#define STALLSCOPE_REPLAY_SWEEP_LEASES_H_

#include <cstdint>
#include <set>
#include <string>

#include "analyzer/base/result.h"

namespace stallscope::replay {

constexpr int64_t kLeaseSeconds = 60;

struct LeaseOwner {
  std::string host;
  int64_t process = 0;
  uint64_t started = 0;  // the process's start, by the kernel; numbers are used again
  bool operator==(const LeaseOwner&) const = default;
};
LeaseOwner ThisProcess();

class Leases {
 public:
  // The folder must exist.
  Leases(std::string folder, LeaseOwner owner);

  // True where it is this process's now: it was free, its owner is gone, or it was its own.
  Result<bool> Take(const std::string& name);
  void Drop(const std::string& name);
  void DropAll();
  bool IsMine(const std::string& name) const { return mine_.contains(name); }
  // Somebody else has it, and lives.
  bool IsTaken(const std::string& name) const;
  bool AnyTaken() const;
  // Tells other hosts that this process lives: every few seconds.
  void Refresh();

 private:
  std::string PathOf(const std::string& name) const;
  bool OwnerLives(const std::string& path) const;

  std::string folder_;
  LeaseOwner owner_;
  std::set<std::string> mine_;
};

}  // namespace stallscope::replay

#endif  // STALLSCOPE_REPLAY_SWEEP_LEASES_H_
