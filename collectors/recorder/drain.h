// From a ring's slots to a chunk's rows: the flusher's inner loop.
#pragma once

#include <cstdint>

#include "analyzer/base/clock.h"
#include "analyzer/trace/chunk.h"
#include "collectors/recorder/recorder.h"
#include "collectors/recorder/ring.h"

namespace stallscope::recorder {

struct Drained {
  uint64_t events = 0;
  // Their time range; meaningless without events.
  int64_t first_ns = 0;
  int64_t last_ns = 0;
  StepCount steps;
};

// Moves events from `ring` into `builder` until `until` is reached or the builder is full, and
// releases their slots. Call again while ring.Tail() < until.
Drained Drain(Ring& ring, uint64_t until, TrackId track, const ClockMap& clock,
              trace::ChunkBuilder& builder);

}  // namespace stallscope::recorder
