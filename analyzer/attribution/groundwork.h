// What every answer about a run's stalls is found from: the partition of its steps, its tracks by
// time, what each stage did. Most of an attribution's time goes into it, so whoever has several
// questions lays it once. Any thread; the run must outlive it.
//
// A null or empty result means that the work was cancelled, and nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "analyzer/attribution/attribution.h"
#include "analyzer/base/cancel.h"
#include "analyzer/model/run.h"

namespace stallscope::attribution {

struct Groundwork;
using GroundworkPtr = std::shared_ptr<const Groundwork>;

// For the run without its warm-up and its cold start.
GroundworkPtr LayGroundwork(const model::Run& run, unsigned threads, Cancel cancel = {});
// For the run's first epoch, warm or cold.
GroundworkPtr LayGroundworkOfFirstEpoch(const model::Run& run, unsigned threads,
                                        Cancel cancel = {});
// Of a part of the run: the steps that begin in the range, warm-up or not; if none does, the range
// itself.
GroundworkPtr LayGroundworkOfRange(const model::Run& run, int64_t start_ns, int64_t end_ns,
                                   unsigned threads, Cancel cancel = {});

// The same as of a run (attribution.h).
std::optional<Attribution> Attribute(const Groundwork& ground, unsigned threads,
                                     Cancel cancel = {});

// In the order of the steps. Summed by stage and cause they are the blame of one device, and of
// several the blame before their mean is taken.
std::optional<std::vector<StallDetail>> StallDetails(const Groundwork& ground, unsigned threads,
                                                     Cancel cancel = {});

// How the stall of one step was explained, by start; empty if it had none. Workers that share a
// stretch each have their link. A warm-up step needs groundwork of its own.
std::optional<std::vector<ChainLink>> ExplainStall(const Groundwork& ground, size_t step_row,
                                                   unsigned threads, Cancel cancel = {});

}  // namespace stallscope::attribution
