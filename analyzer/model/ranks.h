// Several ranks' recordings of one run as one run, on one clock. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/base/result.h"
#include "analyzer/model/run.h"

namespace stallscope::model {

// Whether a kernel moves data between devices, by its name.
using IsCommunication = bool (*)(std::string_view kernel);

struct ClockCorrection {
  int64_t ns = 0;         // to add to the other's times
  size_t pairs = 0;       // collectives that agree
  int64_t spread_ns = 0;  // half of them are within this of it
};

// How far another rank's clock is off, beyond what their wall clocks (`offset`) show: two hosts'
// wall clocks often differ by more than the kernels of a step take. But a collective ends on all of
// its ranks within some microseconds, and kernels of the same step, name and place in it are the
// same collective. Nothing if both have fewer than three in common, if a run's steps are not its
// own marks (steps derived from a rhythm may be one apart), or if they contradict each other.
std::optional<ClockCorrection> CorrectionByCollectives(const Run& first, const Run& other,
                                                       int64_t offset,
                                                       IsCommunication is_communication);

// "rank 1: decode": what a merged run calls a queue, a track or a counter of one rank.
std::string NameOnRank(uint32_t rank, std::string_view name);

// Times of all ranks become those of the lowest rank's clock: two hosts' CLOCK_MONOTONIC have
// nothing in common, so CLOCK_REALTIME at the start ties them together and, with
// `is_communication`, the ends of the ranks' collectives. Stages with the same name and kind become
// one, and their workers add up. Queues, tracks and counters remain separate and are named "rank 1:
// decode"; queues and tracks also keep the rank as a number. Ids of elements and batches have the
// rank in bits 48 to 62. Runs without a rank, or with the same one, have their launcher's
// numbers, if it told each of another one; else they are numbered in the order given. One run is
// returned as it is; none is an error.
Result<Run> MergeRanks(std::vector<Run> runs, IsCommunication is_communication = nullptr);

// The rank that a merged run's element or batch is of; 0 in a run that is not merged.
constexpr int kRankShift = 48;
constexpr uint32_t kRankMask = 0x7fff;
constexpr uint32_t RankOf(ItemId item) {
  return static_cast<uint32_t>(item.value >> kRankShift) & kRankMask;
}

// What a job's trace has of one of its ranks, as the run of that rank alone: its steps, threads,
// devices and loaders. What the machine did stays, so do the stages that the ranks share. Nothing
// for several recordings: each of its recordings is such a run.
std::optional<Run> RunOfRank(const Run& run, uint32_t rank);

}  // namespace stallscope::model
