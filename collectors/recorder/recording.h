// What a recorder and its tracks share: names, rings, and where the events go: into a file that a
// flusher writes, or through the session of `stallscope run` (joined.h) into the trace of that run.
//
// Lock order: stop_mutex_ before flush_mutex_ before tracks_mutex_ before the table's own.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "analyzer/base/clock.h"
#include "analyzer/base/thread.h"
#include "analyzer/trace/chunk.h"
#include "analyzer/trace/writer.h"
#include "collectors/recorder/definitions.h"
#include "collectors/recorder/recorder.h"
#include "collectors/recorder/ring.h"
#include "collectors/recorder/ring_file.h"
#include "collectors/recorder/translate.h"

namespace stallscope::recorder {

class Recording : public std::enable_shared_from_this<Recording> {
 public:
  explicit Recording(trace::RunInfo run) : names_(std::move(run)) {}
  virtual ~Recording() = default;

  DefinitionTable& names() { return names_; }
  // After each change of the names.
  virtual void NamesChanged() {}
  virtual std::shared_ptr<Track> NewTrack(trace::TrackInfo info) = 0;
  virtual std::shared_ptr<void> Adopt(std::unique_ptr<AdoptedRing> ring, TrackId track,
                                      std::shared_ptr<ForeignProcess> process) = 0;
  virtual void Knob(trace::KnobChange change) = 0;
  virtual void Probe(const trace::Probe& window) = 0;
  virtual StepCount steps() { return {}; }
  virtual Status Publish() = 0;
  virtual Status Flush() = 0;
  virtual void Fail(const Error& error) = 0;
  virtual Summary Stop() = 0;

 protected:
  DefinitionTable names_;
};

class FileRecording final : public Recording {
 public:
  FileRecording(trace::TraceWriter writer, trace::RunInfo run, const Options& options);
  ~FileRecording() override;

  // Faults in the first rings, writes what is known and starts the flusher.
  Status Begin();
  std::shared_ptr<Track> NewTrack(trace::TrackInfo info) override;
  std::shared_ptr<void> Adopt(std::unique_ptr<AdoptedRing> ring, TrackId track,
                              std::shared_ptr<ForeignProcess> process) override;
  void Knob(trace::KnobChange change) override;
  void Probe(const trace::Probe& window) override;
  StepCount steps() override;
  Status Publish() override;
  Status Flush() override;
  void Fail(const Error& error) override;
  Summary Stop() override;

 private:
  // One producer's ring and what became of its events.
  struct Channel {
    TrackId id;
    std::unique_ptr<Ring> own;             // of this process
    std::unique_ptr<AdoptedRing> adopted;  // or of another
    std::shared_ptr<ForeignProcess> process;
    std::atomic<bool> retired{false};  // its producer has released it
    uint64_t drained = 0;
    uint64_t refused = 0;  // made no sense
    uint64_t lost_in_writing = 0;
    Ring& ring() { return adopted != nullptr ? adopted->ring() : *own; }
    const Ring& ring() const { return adopted != nullptr ? adopted->ring() : *own; }
    bool Filling() const;
  };
  // Events of one channel in the chunk that is being built, in case it cannot be written.
  struct InChunk {
    Channel* channel;
    uint64_t events;
    int64_t first_ns;
    int64_t last_ns;
  };

  void FlusherLoop();
  bool AnyRingFilling();
  int64_t NextLookNs() const;
  void TopUpSpareRings();
  std::unique_ptr<Ring> TakeRing();

  // With flush_mutex_ held:
  void FlushLocked() noexcept;
  void LoseWhatThrows(const std::function<void()>& write) noexcept;
  void LoseChunk() noexcept;
  void Keep(const Error& error) noexcept;
  void DrainAll();
  void WriteEnd(Summary& summary);
  void Pull(Channel& channel, bool last);
  void DrainChannel(Channel& channel, uint64_t until);
  const ClockMap& ClockOf(const Channel& channel) const;
  void WriteNewDefinitions();
  void WriteKnobsAndProbes();
  void AddOpenGap(Channel& channel);
  void RetireChannels(const std::vector<std::shared_ptr<Channel>>& channels);
  void WriteChunk(trace::FrameType type = trace::FrameType::kChunk);
  void WriteSeals(Summary& summary);
  trace::Tally TallyOf(const Channel& channel) const;

  const Options options_;
  const Ticks begin_ticks_ = NowTicks();
  const int64_t begin_ns_ = MonotonicNs();

  std::mutex tracks_mutex_;
  std::vector<std::shared_ptr<Channel>> channels_;
  std::vector<std::unique_ptr<Ring>> spare_rings_;
  size_t rings_made_ = 0;
  std::vector<trace::KnobChange> knobs_;
  std::vector<trace::Probe> probes_;
  bool stopped_ = false;

  std::mutex flush_mutex_;
  trace::TraceWriter writer_;
  ClockMap clock_;
  const ClockMap monotonic_;                    // a tick is a nanosecond
  std::optional<trace::ChunkBuilder> builder_;  // always set; recreated after a failure
  ClockAnchor last_anchor_;
  std::vector<InChunk> in_chunk_;
  std::vector<trace::Gap> gaps_to_write_;
  std::vector<trace::Tally> retired_tallies_;
  std::map<TrackId, StepCount> steps_;
  std::string first_error_;
  bool sealed_ = false;

  std::mutex stop_mutex_;
  std::optional<Summary> summary_;

  std::atomic<bool> calm_{false};  // as of the last drain

  std::mutex wake_mutex_;
  std::condition_variable wake_;
  bool stop_flusher_ = false;
  ThreadGroup flusher_;
};

}  // namespace stallscope::recorder
