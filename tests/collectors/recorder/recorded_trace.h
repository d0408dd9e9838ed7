// What a trace file holds, read back frame by frame: enough for checking the recorder without the
// rooms above it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "analyzer/trace/reader.h"
#include "analyzer/trace/span_codec.h"
#include "collectors/recorder/track.h"

namespace stallscope::test {

struct ReadSpan {
  trace::SpanClass span_class;
  int64_t start_ns;
  int64_t end_ns;
  ItemId item;
  uint64_t bytes;
  uint64_t cpu_ns;
  TrackId waker;
};

struct RecordedTrace {
  std::map<uint32_t, std::vector<ReadSpan>> spans;  // by track
  std::vector<trace::Chunk> chunks;                 // their spans are taken out
  trace::EventRows rows;
  std::map<uint32_t, std::string> track_names;
  std::map<uint32_t, std::string> strings;
  std::vector<trace::Tally> tallies;
  bool sealed = false;
  trace::Damage damage;

  uint64_t SpanCount() const;
  uint64_t Emitted() const;
  uint64_t Stored() const;
  uint64_t Dropped() const;
  uint64_t DroppedInGaps() const;
};

// A span about `item` that begins and ends now.
inline void Touch(recorder::Track& track, ItemId item) {
  const Ticks now = NowTicks();
  track.Work(StageId{0}, item, now, now);
}

// Fails the test where the file cannot be opened.
RecordedTrace ReadTrace(const std::string& path);

}  // namespace stallscope::test
