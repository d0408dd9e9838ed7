// The input pipeline of tf.data from its iterators' events: stages, what they did, and what the
// trainer waited for. One thread at a time.
//
//  - Each kind of iterator is a stage. Calls of an iterator that works on its caller's thread are
//    work spans on that track; the calls that it makes in turn are inside and belong to others:
//    what remains is its self time.
//  - An iterator with threads of its own (as its Produce events or its inputs' calls on other
//    threads show) is only waited for by its callers: their time is a wait for its queue. What its
//    threads do, including the functions that they hand to the pool, is its work. So children that
//    work in parallel are never subtracted from a caller's time twice.
//  - The trainer's IteratorGetNext is a wait for a batch.
#pragma once

#include <cstdint>

#include "analyzer/importers/foreign/host_events.h"
#include "analyzer/importers/foreign/run_builder.h"

namespace stallscope::importers {

struct PipelineSeen {
  uint32_t samples_per_batch = 0;  // 0: unknown
  bool any = false;                // there was an iterator
};

// `trainer`: the index of the training thread in HostEvents::threads; their number if there is
// none. Sorts the threads' events, and makes tracks for those that take part.
PipelineSeen AddPipeline(HostEvents& host, size_t trainer, RunBuilder& builder);

}  // namespace stallscope::importers
