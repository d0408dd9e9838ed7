// The names that a job's processes use, and what they are in the trace.
//
// Each process appends JSON lines to a names file of its own (RING.md). Nothing in it is trusted: a
// line that is malformed, too long or out of limits is ignored and counted. Processes of one loader
// define the same stages; they become one. Locks inside: the recorder's flusher reads names on
// behalf of rings while another thread adopts rings.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collectors/job/job_digest.h"
#include "collectors/recorder/definitions.h"
#include "collectors/recorder/ring_file.h"
#include "collectors/recorder/translate.h"

namespace stallscope::job {

class JobNames;
class NamesLine;

// A file that a framework's profiler wrote about a window of steps.
struct JobProfile {
  std::string file;  // in the session's folder
  uint64_t pid = 0;
  int64_t from_ns = 0;
  int64_t to_ns = 0;
};

class JobProcess final : public recorder::ForeignProcess {
 public:
  // Reads what has been appended to the names file.
  const recorder::IdMap& CatchUp() override;
  // As if they had been appended to it: for tests, which need no file.
  const recorder::IdMap& CatchUpWith(std::string_view bytes);
  // The track of a ring, with the name that the process has given it, if any.
  TrackId TrackOf(const recorder::RingOwner& ring);
  // It has ended.
  void End(int64_t at_ns);

  const recorder::ProcessKey& key() const { return key_; }
  ProcessId id() const { return id_; }
  // True if the loader works in threads without rings: only a profile shows their work.
  bool has_native_loader() const;

 private:
  friend class JobNames;
  class NamesLine;
  JobProcess(JobNames& names, recorder::ProcessKey key, trace::ProcessInfo info);
  void ReadMore();
  void TakeBytes(std::string_view fresh);
  void NameTrack(uint64_t id, trace::TrackInfo info);

  JobNames& names_;
  const recorder::ProcessKey key_;
  ProcessId id_;
  trace::ProcessInfo info_;
  recorder::IdMap ids_;
  std::vector<trace::TrackInfo> tracks_;           // by the process's own numbers
  std::map<uint64_t, trace::TrackInfo> nameless_;  // by thread: it has a ring, but no name yet
  uint64_t offset_ = 0;                            // of the file, up to which it was read
  std::string rest_;                               // a line that has no end yet
  bool skipping_ = false;
  bool has_native_loader_ = false;
};

class JobNames {
 public:
  // `folder` is a descriptor of the session's folder. Both must outlive the object.
  JobNames(recorder::DefinitionTable& table, int folder);

  // Known from now on, whether it has a names file or not. `info` without an id.
  std::shared_ptr<JobProcess> ProcessOf(const recorder::ProcessKey& key,
                                        const trace::ProcessInfo& info = {});
  std::vector<std::shared_ptr<JobProcess>> processes() const;
  // Lines that made no sense so far.
  uint64_t bad_lines() const;
  // The shim ends the job because it has done the steps that were asked for.
  bool ended_by_steps() const;
  std::vector<LoaderDigest> digests() const;
  std::vector<JobProfile> profiles() const;  // by time
  std::vector<trace::Probe> probes() const;  // by time

  // For one line of `process`; false if it makes no sense. For JobProcess, with the lock held.
  bool Take(JobProcess& process, std::string_view line);

 private:
  friend class JobProcess;
  bool TakeProcess(JobProcess& process, const NamesLine& line);
  bool TakeLoader(JobProcess& process, const NamesLine& line);
  bool TakeQueue(JobProcess& process, const NamesLine& line);
  bool TakeStage(JobProcess& process, const NamesLine& line);
  bool TakeString(JobProcess& process, const NamesLine& line);
  bool TakeOp(JobProcess& process, const NamesLine& line);
  bool TakeLines(const NamesLine& line);
  bool TakeCounter(JobProcess& process, const NamesLine& line);
  bool TakeTrack(JobProcess& process, const NamesLine& line);
  bool TakeFramework(const NamesLine& line);
  bool TakeDigest(const JobProcess& process, const NamesLine& line);
  bool TakeProfile(const JobProcess& process, const NamesLine& line);
  bool TakeProbe(const JobProcess& process, const NamesLine& line);
  bool TakeSlowed(const NamesLine& line);
  bool TakeSaid(const std::string& text);

  recorder::DefinitionTable& table_;
  const int folder_;
  mutable std::mutex mutex_;
  std::map<recorder::ProcessKey, std::shared_ptr<JobProcess>> processes_;
  std::map<std::pair<recorder::ProcessKey, uint64_t>, trace::LoaderInfo> loaders_;
  // By loader and name; of none where the process has none.
  std::map<std::pair<LoaderId, std::string>, trace::StageInfo> stages_;
  std::map<std::pair<LoaderId, std::string>, trace::QueueInfo> queues_;
  std::set<std::string> frameworks_;
  std::set<std::string> said_;
  std::map<std::pair<recorder::ProcessKey, std::string>, LoaderDigest> digests_;  // by place
  std::vector<JobProfile> profiles_;
  // By time: the windows that the process that trains confirmed, and the delays of all processes.
  std::map<std::pair<int64_t, int64_t>, StageId> probes_;
  std::map<std::pair<int64_t, int64_t>, trace::Probe> paid_;
  uint64_t bad_lines_ = 0;
  bool ended_by_steps_ = false;
};

}  // namespace stallscope::job
