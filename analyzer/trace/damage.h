// What could not be read of a trace file. Plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stallscope::trace {

struct DamagedRange {
  uint64_t offset = 0;
  uint64_t length = 0;
  std::string reason;
};

struct Damage {
  uint64_t bytes = 0;                // in all ranges
  std::vector<DamagedRange> ranges;  // the first kMaxRanges of them, by offset
  uint64_t missing_frames = 0;       // gaps in the streams' sequence numbers
  std::optional<uint64_t> cut_at;    // the file ends inside the frame that begins here
  static constexpr size_t kMaxRanges = 64;
};

}  // namespace stallscope::trace
