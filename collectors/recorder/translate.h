// Events of another process become ours: its ids are replaced by this recording's, and what cannot
// be is taken out.
//
// An event is refused if its tag is unknown, if it is longer than what was published, if an id has
// no name, an enumeration no such value, or a time is outside the recording. Pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "analyzer/base/clock.h"
#include "analyzer/base/ids.h"
#include "analyzer/trace/events.h"
#include "collectors/recorder/ring.h"

namespace stallscope::recorder {

// What a process's numbers are in this recording: at the index that is its number; None for one
// that has no name, or for which this recording has no room.
struct IdMap {
  std::vector<StageId> stages;
  std::vector<QueueId> queues;
  std::vector<CounterId> counters;
  std::vector<TrackId> tracks;
  std::vector<trace::StringId> strings;
  std::vector<LoaderId> loaders;
};

// When an event can have been, in the ring's own ticks.
struct TickRange {
  Ticks first = 0;
  Ticks last = 0;
};

// A process whose rings are drained here.
class ForeignProcess {
 public:
  virtual ~ForeignProcess() = default;
  // With every name that it had written before the call. Called by the flusher's thread.
  virtual const IdMap& CatchUp() = 0;
};

// Slot `index` of a ring, to be read and changed.
using SlotAt = std::function<Slot&(uint64_t index)>;

// Goes over the slots from `from` to `to`. Slots of refused events get the tag 0, which the drain
// passes over. Returns how many events were refused.
uint64_t Translate(const SlotAt& slots, uint64_t from, uint64_t to, const IdMap& ids,
                   TickRange range);

}  // namespace stallscope::recorder
