// Several ranks' recordings of one run as one run, on one clock. Any thread.
#ifndef STALLSCOPE_ANALYZER_MODEL_RANKS_H_
#define STALLSCOPE_ANALYZER_MODEL_RANKS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "analyzer/base/result.h"
#include "analyzer/model/run.h"

namespace stallscope::model {

// Whether a kernel moves data between devices, by its name.
using IsCommunication = bool (*)(std::string_view kernel);

struct ClockCorrection {
  int64_t ns = 0;         // to add to the other's times
  size_t pairs = 0;       // collectives that say so
  int64_t spread_ns = 0;  // half of them lie within so much of it
};

// Two hosts' wall clocks differ by whatever their network leaves, often by more than a step's
// kernels take. But a collective ends on all of its ranks at once, within some microseconds: the
// kernels of the same step, name and place in it are the same collective. `offset` is what the wall
// clocks say already. Nothing where fewer than three are the same on both, where a run's steps are
// not marked by itself (a rhythm's numbers may be one apart), and where they contradict each other.
std::optional<ClockCorrection> CorrectionByCollectives(const Run& first, const Run& other,
                                                       int64_t offset,
                                                       IsCommunication is_communication);

// Times of all ranks become those of the lowest rank's clock: two hosts' CLOCK_MONOTONIC have
// nothing in common, so CLOCK_REALTIME at the start ties them together, and where ranks reduced
// together the ends of what they did (not without `is_communication`). Stages of the
// same name and kind become one, whose workers add up. Queues, tracks and counters stay apart and
// are named "rank 1: decode"; queues and tracks keep the rank as a number, too. Numbers of elements
// and batches get the rank into bits 48 to 62. Runs that do not say which rank they are, or say the
// same, are numbered in the order given. One run is given back as it is; none is an error.
Result<Run> MergeRanks(std::vector<Run> runs, IsCommunication is_communication = nullptr);

}  // namespace stallscope::model

#endif  // STALLSCOPE_ANALYZER_MODEL_RANKS_H_
