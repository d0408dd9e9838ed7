// Records a run into a trace file as it runs.
//
// Threads that take part hold a ThreadScope and write to the Track that it gave them (track.h); a
// flusher thread drains the rings every 100 ms, or sooner if one fills up, and appends what it
// found to the file. The recorded program never waits for the recorder: what does not fit is
// dropped and counted, and a disk failure is reported by Stop().
//
// Every call but Stop() may come from any thread. Definitions take a lock: make them before the hot
// part of the work.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "analyzer/base/file.h"
#include "analyzer/base/result.h"
#include "analyzer/trace/events.h"
#include "collectors/recorder/track.h"

namespace stallscope::recorder {

struct Options {
  // A ring has this many slots of 24 bytes; a power of two. 32,768 hold 50 ms of 600,000 events/s.
  size_t ring_slots = size_t{1} << 15;
  // Rings that are mapped and faulted in at the start. The flusher keeps as many spare while
  // threads come, up to max_rings; the events of a thread that comes when all are taken are dropped
  // and counted.
  size_t spare_rings = 4;
  size_t max_rings = 1024;
  int64_t flush_interval_ns = 100'000'000;
  // The flusher checks the rings this often, and drains when one is an eighth full.
  int64_t look_interval_ns = 10'000'000;
  // And this often while no ring gets fuller than 1/16 between two drains: a look costs 50 us of a
  // core that others need.
  int64_t calm_look_interval_ns = 10'000'000;
  // False: the file gets its name, and replaces an earlier one, only with Publish().
  bool publish = true;
  // In a program that `stallscope run` has started, the recording becomes part of that trace, and
  // no file of its own is written. False: it stays a recording of its own.
  bool join_session = true;
  FileOps* ops = &FileOps::Kernel();
};

struct Summary {
  uint64_t emitted = 0;
  uint64_t stored = 0;
  uint64_t dropped = 0;  // emitted = stored + dropped
  uint64_t bytes = 0;    // of the file
  // What went wrong while writing; empty if nothing did.
  std::string first_error;
};

// A trainer's steps that the trace has so far; of several, those of the one with the most.
struct StepCount {
  uint64_t steps = 0;
  int64_t first_ns = 0;   // the first request; meaningless without steps
  int64_t last_ns = 0;    // when the last one was done
  int64_t waited_ns = 0;  // from requests to batches
  int64_t all_ns = 0;     // of all steps

  void Add(const StepCount& more);
};

class Recording;  // what the recorder, the flusher and the tracks share
class DefinitionTable;
class AdoptedRing;
class ForeignProcess;

class Recorder {
 public:
  // Creates the file, writes `run` (completed with the clock and the start), starts the flusher.
  static Result<std::unique_ptr<Recorder>> Start(const std::string& path, trace::RunInfo run,
                                                 const Options& options = {});
  // Stops if Stop() was not called.
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Names; assigns the id in the row and returns it.
  StageId DefineStage(trace::StageInfo stage);
  // Replaces an earlier definition of a stage (its queue, inputs, workers).
  void RedefineStage(const trace::StageInfo& stage);
  QueueId DefineQueue(trace::QueueInfo queue);
  CounterId DefineCounter(const std::string& name, const std::string& unit);
  // The same text always has the same id.
  trace::StringId DefineString(std::string_view text);

  // A track for one producer at a time: a thread, a device's stream. Returns to the pool when the
  // last holder releases it.
  std::shared_ptr<Track> NewTrack(trace::TrackInfo info);

  void Knob(std::string_view path, std::string_view old_value, std::string_view new_value);
  void Probe(const trace::Probe& window);
  // For whoever records other processes too (collectors/job): drains `ring` as a part of `track`,
  // until its writer has closed it or the caller releases what this returns. A joined recording
  // adopts nothing.
  std::shared_ptr<void> Adopt(std::unique_ptr<AdoptedRing> ring, TrackId track,
                              std::shared_ptr<ForeignProcess> process);
  DefinitionTable& names();

  // Changes the trace's information about the run; written at once and again at the end.
  void UpdateRun(const std::function<void(trace::RunInfo&)>& change);

  StepCount steps() const;
  // For a recorder that was started unpublished: others see the trace from now on. One that ends
  // unpublished leaves no file.
  Status Publish();
  // Everything emitted before this call is in the file when it returns.
  Status Flush();
  // Something that feeds the recording has failed: it continues, and Flush() and Stop() report why
  // the trace is incomplete. The first error counts. Any thread.
  void Fail(const Error& error);
  // Drains, seals and closes the file. Threads may still hold tracks. Only the first call has an
  // effect.
  Summary Stop();

 private:
  explicit Recorder(std::shared_ptr<Recording> recording);
  template <class Info>
  auto Named(Info info);
  std::shared_ptr<Recording> recording_;
};

// The calling thread records for the life of the scope. A null recorder records nothing, so that
// callers need no second path.
class ThreadScope {
 public:
  ThreadScope(Recorder* recorder, const std::string& name, StageId stage = StageId::None());
  ~ThreadScope();
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;
  Track* track() const { return track_.get(); }

 private:
  std::shared_ptr<Track> track_;
  Track* before_;
};

}  // namespace stallscope::recorder
