// An XPlane's times in nanoseconds. Private to the room; any thread.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_XPLANE_TIMES_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_XPLANE_TIMES_H_

#include <cstdint>
#include <vector>

#include "analyzer/base/saturated.h"
#include "analyzer/importers/xplane/line_events.h"
#include "analyzer/importers/xplane/space_index.h"

namespace stallscope::importers::xplane {

constexpr int64_t kPsPerNs = 1'000;

// Downwards, so that an end that is the next one's start stays it.
constexpr int64_t FloorNs(int64_t ps) { return ps / kPsPerNs - (ps % kPsPerNs < 0 ? 1 : 0); }

// Lines say their times since 1970 or since the recording began, whichever their profiler liked.
// Where a file has both, those since 1970 are brought to the others.
class TimeBase {
 public:
  explicit TimeBase(const std::vector<Plane>& planes);

  // Of the line's first possible moment.
  int64_t OriginNs(const Line& line) const {
    return IsEpoch(line.timestamp_ns) ? SaturatedSum(line.timestamp_ns, -epoch_shift_ns_)
                                      : line.timestamp_ns;
  }
  static int64_t StartNs(int64_t origin_ns, const Event& event) {
    return SaturatedSum(origin_ns, FloorNs(event.offset_ps));
  }
  static int64_t EndNs(int64_t origin_ns, const Event& event) {
    return SaturatedSum(origin_ns, FloorNs(SaturatedSum(event.offset_ps, event.duration_ps)));
  }
  // The file has lines of both kinds.
  bool mixed() const { return epoch_shift_ns_ != 0; }
  // How far the wall clock is ahead of the run's times; 0 and known() false: the file does not say.
  bool knows_realtime() const { return knows_realtime_; }
  int64_t realtime_ahead_ns() const { return realtime_ahead_ns_; }

 private:
  // Nobody records for three years on end, nor did in 1973.
  static constexpr int64_t kEpochFromNs = 100'000'000'000'000'000;
  static bool IsEpoch(int64_t ns) { return ns >= kEpochFromNs; }

  int64_t epoch_shift_ns_ = 0;
  bool knows_realtime_ = false;
  int64_t realtime_ahead_ns_ = 0;
};

}  // namespace stallscope::importers::xplane

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_XPLANE_TIMES_H_
