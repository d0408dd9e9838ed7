// How far a rank's clock is off another one's, beyond what their wall clocks say. Any thread.
#ifndef STALLSCOPE_ANALYZER_MODEL_RANK_CLOCKS_H_
#define STALLSCOPE_ANALYZER_MODEL_RANK_CLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

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

}  // namespace stallscope::model

#endif  // STALLSCOPE_ANALYZER_MODEL_RANK_CLOCKS_H_
