// Finds the files that a job's processes put into the session's folder, and has them drained.
//
// By looking at the folder, every 40 ms: only we remove anything from it, so a late look misses
// nothing, and a ring holds more than that. Rejected: inotify, whose instances are few per user and
// whose events get lost; then the folder must be scanned anyway. A folder that has not changed
// costs one fstat(). One thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "collectors/job/job_names.h"
#include "collectors/job/job_sampler.h"
#include "collectors/recorder/recorder.h"

namespace stallscope::job {

class Adopter {
 public:
  // All of them must outlive the object; `folder` is the session's descriptor.
  Adopter(recorder::Recorder& recorder, JobNames& names, JobSampler& sampler, int folder);

  void Look();
  // The rings of a process that has ended are drained once more and removed.
  void Release(const recorder::ProcessKey& process);
  void ReleaseAll();
  // Files that claim to be rings and are not.
  uint64_t strangers() const { return strangers_.size(); }
  uint64_t rings() const { return rings_; }

 private:
  struct Adopted {
    recorder::ProcessKey process;
    std::shared_ptr<void> held;
  };
  bool Changed();
  void Adopt(const std::string& name);

  recorder::Recorder& recorder_;
  JobNames& names_;
  JobSampler& sampler_;
  const int folder_;
  int64_t changed_ns_ = -1;
  bool again_ = true;  // something was left for the next time
  std::map<std::string, Adopted> adopted_;
  std::set<std::string> strangers_;
  std::set<std::string> names_files_;
  uint64_t rings_ = 0;
};

}  // namespace stallscope::job
