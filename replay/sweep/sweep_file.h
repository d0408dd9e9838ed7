// A sweep on disk: a complete JSON file at any time, whatever is killed.
//
// Every change is made under a lock, to the file's current content, and committed by a rename after
// a sync. So any number of processes may work on one file, and a kill loses only what they were
// doing. A journal was rejected: users would see an old file until something merges the two. During
// the work the folder `<file>.leases` is beside it; the last process removes it, unless it contains
// anything that no sweep put there. One thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "analyzer/base/result.h"
#include "replay/sweep/job.h"
#include "replay/sweep/leases.h"
#include "replay/sweep/sweep.h"

namespace stallscope::replay {

struct SweepFileOptions {
  std::string path;
  bool resume = false;
  Job job;
  std::function<bool()> stop_requested;  // ends the wait for rank 0; may be empty
};

class SweepFile {
 public:
  // Rank 0 writes `planned` to the file, with the figures that an earlier process left there for
  // the same configurations (`resume`); the other ranks wait for it. Without `resume`, a file that
  // is not a sweep, or an unfinished one, is kept and an error (kUsage).
  static Result<SweepFile> Open(const SweepFileOptions& options, const Sweep& planned);
  SweepFile(SweepFile&&) noexcept;
  SweepFile& operator=(SweepFile&&) = delete;
  ~SweepFile();

  // The file's content after `change`, which returns whether it changed anything, and inside which
  // leases are taken and dropped.
  Result<Sweep> Update(const std::function<bool(Sweep& sweep, Leases& leases)>& change);
  void Refresh() { leases_->Refresh(); }

 private:
  explicit SweepFile(const SweepFileOptions& options);
  Status Plan(Sweep planned);
  Status AwaitPlan();

  SweepFileOptions options_;
  std::string folder_;
  std::unique_ptr<Leases> leases_;  // null once moved away
};

Result<Sweep> ReadSweepFile(const std::string& path);

}  // namespace stallscope::replay
