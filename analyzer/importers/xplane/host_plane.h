// Reads the planes of the host: shows every event on its thread's detail track, and keeps those
// that say something about steps, the input pipeline and launches. Private to the room; one thread
// at a time.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_XPLANE_HOST_PLANE_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_XPLANE_HOST_PLANE_H_

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/base/result.h"
#include "analyzer/importers/foreign/host_event.h"
#include "analyzer/importers/foreign/launches.h"
#include "analyzer/importers/foreign/run_builder.h"
#include "analyzer/importers/foreign/running_totals.h"
#include "analyzer/importers/xplane/line_events.h"
#include "analyzer/importers/xplane/space_bytes.h"
#include "analyzer/importers/xplane/space_index.h"
#include "analyzer/importers/xplane/times.h"

namespace stallscope::importers::xplane {

class HostPlanes {
 public:
  HostPlanes(SpaceBytes& bytes, const TimeBase& times, RunBuilder& builder)
      : bytes_(bytes), times_(times), builder_(builder) {}

  Status Add(const Plane& plane);
  HostEvents& events() { return events_; }
  Launches& launches() { return launches_; }
  // Ops that Python ran one by one.
  std::vector<Occurrence>& eager_ops() { return eager_ops_; }
  // Calls for which a function was traced, and compilations.
  std::vector<Occurrence>& compilations() { return compilations_; }

 private:
  // What is known of all events of one name.
  struct Kind {
    bool known = false;
    HostRole role = HostRole::kNone;
    uint16_t span_class = 0;
    uint32_t name = 0;  // in events_, of a role
  };
  Kind Learn(const EventName& name, const EventStats& stats);
  void Keep(const Kind& kind, const EventStats& stats, int64_t start_ns, int64_t end_ns,
            HostThread& thread);

  SpaceBytes& bytes_;
  const TimeBase& times_;
  RunBuilder& builder_;
  HostEvents events_;
  std::unordered_map<std::string, uint32_t> names_;
  Launches launches_;
  std::vector<Occurrence> eager_ops_;
  std::vector<Occurrence> compilations_;
};

// What LineRead found wrong goes to the builder, under the line's name.
void TellFaults(const LineRead& read, const Line& line, RunBuilder& builder);

}  // namespace stallscope::importers::xplane

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_XPLANE_HOST_PLANE_H_
