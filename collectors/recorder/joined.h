// A recording that is part of another one: this program was started by `stallscope run`, and writes
// its rings and names into the session's folder (RING.md), from where they end up in that trace.
//
// Nothing here keeps a descriptor open, and nothing fails loudly: a program that closes all
// descriptors, has no room or outlives the session goes on, and records less.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "collectors/recorder/recording.h"

namespace stallscope::recorder {

class JoinedRecording final : public Recording {
 public:
  // Null without a session whose folder this user owns.
  static std::shared_ptr<JoinedRecording> FromEnvironment(const trace::RunInfo& run,
                                                          const Options& options);
  ~JoinedRecording() override;

  void NamesChanged() override;
  std::shared_ptr<Track> NewTrack(trace::TrackInfo info) override;
  // Another process's ring is not this recording's business.
  std::shared_ptr<void> Adopt(std::unique_ptr<AdoptedRing>, TrackId,
                              std::shared_ptr<ForeignProcess>) override {
    return nullptr;
  }
  void Knob(trace::KnobChange) override {}
  void Probe(const trace::Probe&) override {}
  Status Publish() override { return {}; }
  Status Flush() override { return {}; }
  void Fail(const Error& error) override;
  Summary Stop() override;

 private:
  JoinedRecording(std::string folder, const trace::RunInfo& run, const Options& options)
      : Recording(run), folder_(std::move(folder)), options_(options) {}
  static void AfterFork();
  void BeginProcess();
  void WriteNewNames();
  void Append(const std::string& lines);

  const std::string folder_;
  const Options options_;
  std::mutex mutex_;
  ProcessKey process_;
  size_t known_strings_ = 0;
  uint64_t rings_made_ = 0;
  bool said_no_room_ = false;
  bool silent_ = false;  // the session is over, or the disk is full
  std::vector<std::weak_ptr<Ring>> rings_;
};

}  // namespace stallscope::recorder
