// A sweep on disk: always a whole JSON file, whoever is killed when.
//
// Every change is made under a lock, to what the file holds at that time, and brought to its place
// by a rename after a sync. So any number of processes may work on one file, and a kill loses what
// they were just doing and nothing else. A journal beside it was rejected: the file that a user
// looks at would then be the old one until somebody merges. While it is worked on, a folder
// `<file>.leases` lies beside it; the last one who leaves removes it, unless there is something in
// it that no sweep put there. One thread at a time.
#ifndef STALLSCOPE_REPLAY_SWEEP_SWEEP_FILE_H_
#define STALLSCOPE_REPLAY_SWEEP_SWEEP_FILE_H_

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
  // Rank 0 brings `planned` to the file, with the figures of the same configurations that an
  // earlier process left there (`resume`); the other ranks wait for it. Without `resume` a file
  // that is no sweep, or whose sweep is not finished, is kept and an error (kUsage).
  static Result<SweepFile> Open(const SweepFileOptions& options, const Sweep& planned);
  SweepFile(SweepFile&&) noexcept;
  SweepFile& operator=(SweepFile&&) = delete;
  ~SweepFile();

  // What the file holds, after `change`, which says whether it has changed anything. Leases are
  // taken and dropped inside it.
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

#endif  // STALLSCOPE_REPLAY_SWEEP_SWEEP_FILE_H_
