// TensorFlow's trace.json and TF1's timelines: which of their processes and threads are streams,
// and what the host's say of steps and of tf.data. One thread at a time.
//
// Iterators come in two styles: with their whole path ("Iterator::Root::Prefetch::Map"), and by
// their own name alone ("Iterator::Map"), with numbers or without. If neither path nor number says
// who asks for an iterator's elements, the enclosing call on the thread does.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "analyzer/importers/chrome/device.h"
#include "analyzer/importers/chrome/document.h"
#include "analyzer/importers/chrome/lanes.h"
#include "analyzer/importers/chrome/text_table.h"
#include "analyzer/importers/foreign/host_events.h"
#include "analyzer/importers/foreign/run_builder.h"

namespace stallscope::importers::chrome {

class TensorFlow {
 public:
  TensorFlow(RunBuilder& builder, Lanes& lanes, DeviceRows& device)
      : builder_(builder),
        lanes_(lanes),
        device_(device),
        host_(builder),
        known_(builder.allowance()) {}

  void OnProcessName(std::string_view name);
  // Takes what an event on one of TensorFlow's lanes means. False: it is to be shown on its lane,
  // too, like any other event.
  bool Take(const Event& event, uint32_t lane, int64_t start_ns, int64_t end_ns);
  // Whether the file has any of TensorFlow's lanes.
  bool seen() const { return seen_; }

  // Adds the pipeline and the totals to the run, and gives the steps.
  std::vector<StepMark> Finish();
  void Describe();
  const HostRecord& host() const { return host_; }

 private:
  enum class LaneRole : uint8_t {
    kNone,        // nothing of TensorFlow's
    kHost,        // a thread of the host
    kStream,      // what a device really did
    kDerived,     // made from the streams: never counted again
    kStepNumbers  // derived, and its events are the steps
  };
  struct LaneMeaning {
    LaneRole role = LaneRole::kNone;
    uint32_t device = 0;
  };
  // What is known of all events of one name.
  struct Name {
    HostRole role = HostRole::kNone;  // unless an event's arguments give it another
    std::optional<uint32_t> kept;     // in HostEvents::names
  };

  LaneMeaning Interpret(std::string_view process, std::string_view thread) const;
  LaneMeaning MeaningOf(uint32_t lane);
  void TakeHost(const Event& event, uint32_t lane, int64_t start_ns, int64_t end_ns);
  Name& NameOf(std::string_view text);
  HostThread& ThreadOf(uint32_t lane);

  RunBuilder& builder_;
  Lanes& lanes_;
  DeviceRows& device_;
  HostRecord host_;
  TextTable known_;
  std::vector<Name> names_;                           // by the value in known_
  std::vector<std::optional<LaneMeaning>> meanings_;  // by lane
  std::vector<size_t> threads_;          // by lane: its index in HostEvents::threads, plus one
  std::vector<uint32_t> lane_of_;        // by thread
  std::vector<StepMark> derived_marks_;  // of the line "Steps"
  bool numbered_streams_ = false;
  bool seen_ = false;
};

}  // namespace stallscope::importers::chrome
