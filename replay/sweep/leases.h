// Who works on what, in files beside the sweep: several processes, on several hosts, share one
// sweep without talking to each other.
//
// A lease is a file that names its owner. One whose owner is gone is free again: on this host the
// owner's process is looked up, on another one the owner must have touched its lease within
// kLeaseSeconds, by the clock of the file system. Every call but Refresh must be made under the
// sweep file's lock. An error is one of the folder: no lease can be read or written there. One
// thread at a time.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "analyzer/base/result.h"

namespace stallscope::replay {

constexpr int64_t kLeaseSeconds = 60;
// The file in the folder whose lock is the sweep file's. It is empty.
constexpr const char* kSweepLock = "lock";

struct LeaseOwner {
  std::string host;
  int64_t process = 0;
  uint64_t started = 0;  // the process's start time, from the kernel; pids are reused
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
  // A living process other than this one holds it.
  Result<bool> IsTaken(const std::string& name) const;
  // Removes the folder with the leases of owners that are gone, unless another owner is alive.
  // Anything else in it stays, and then so does the folder. DropAll() comes first.
  void RemoveFolder() const;
  // Tells other hosts that this process lives: every few seconds.
  void Refresh();

 private:
  std::string PathOf(const std::string& name) const;
  Result<bool> OwnerLives(const std::string& path) const;

  std::string folder_;
  LeaseOwner owner_;
  std::set<std::string> mine_;
};

}  // namespace stallscope::replay
