#include "analyzer/importers/xplane/line_events.h"

#include <algorithm>
#include <limits>

namespace stallscope::importers::xplane {

TimeBase::TimeBase(const std::vector<Plane>& planes) {
  bool relative = false;
  int64_t first_epoch_ns = std::numeric_limits<int64_t>::max();
  int64_t profile_start_ns = 0;
  for (const Plane& plane : planes) {
    if (plane.profile_start_ns != 0) profile_start_ns = plane.profile_start_ns;
    for (const Line& line : plane.lines) {
      if (line.events_from == line.end) continue;
      if (IsEpoch(line.timestamp_ns)) {
        first_epoch_ns = std::min(first_epoch_ns, line.timestamp_ns);
      } else {
        relative = true;
      }
    }
  }
  const bool epoch = first_epoch_ns != std::numeric_limits<int64_t>::max();
  if (epoch && relative) {
    epoch_shift_ns_ = profile_start_ns != 0 ? profile_start_ns : first_epoch_ns;
    realtime_ahead_ns_ = epoch_shift_ns_;
    knows_realtime_ = true;
  } else if (epoch) {
    knows_realtime_ = true;
  } else if (profile_start_ns != 0) {
    realtime_ahead_ns_ = profile_start_ns;
    knows_realtime_ = true;
  }
}

}  // namespace stallscope::importers::xplane
