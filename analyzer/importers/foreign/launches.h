// Ties device work to the host calls that launched it, by the correlation id that both carry. One
// thread at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/base/column.h"
#include "analyzer/trace/events.h"

namespace stallscope::importers {

class Launches {
 public:
  // The most that a call takes, including its share of the table by id.
  static constexpr uint64_t kCallBytes = 48;

  void Add(uint64_t correlation, int64_t start_ns) { calls_.push_back({correlation, start_ns}); }
  // Call once, after the last Add.
  void Close();
  // When the call began; 0 if unknown. If several layers of the runtime report the same launch, the
  // earliest counts.
  int64_t StartOf(uint64_t correlation) const;

 private:
  struct Call {
    uint64_t correlation;
    int64_t start_ns;
  };
  Column<Call> calls_;
  // Ids are handed out consecutively, so a table by id is usually full: index + 1 in calls_. Empty
  // if they are too scattered for that; calls_ is sorted then.
  std::vector<uint32_t> by_id_;
  uint64_t first_id_ = 0;
};

// A kernel or copy as every format has it.
template <class Row>
Row DeviceRow(TrackId track, uint64_t correlation, int64_t start_ns, int64_t end_ns) {
  Row row;
  row.start_ns = start_ns;
  row.end_ns = end_ns;
  row.correlation = correlation;
  row.track = track;
  return row;
}

// Captured graphs where a format does not number them: kernels of one stream that share a
// correlation id get it as their graph's number, since only a graph launches several kernels. Does
// nothing if any kernel has a graph number already: that file has its own.
void MarkGraphLaunches(std::vector<trace::Kernel>& kernels);

}  // namespace stallscope::importers
