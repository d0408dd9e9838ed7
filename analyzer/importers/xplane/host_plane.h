// Reads the planes of the host: shows every event on its thread's detail track, and keeps those
// that say something about steps, the input pipeline and launches. One thread at a time.
#pragma once

#include <cstdint>
#include <optional>

#include "analyzer/base/result.h"
#include "analyzer/importers/foreign/host_events.h"
#include "analyzer/importers/foreign/launches.h"
#include "analyzer/importers/foreign/run_builder.h"
#include "analyzer/importers/xplane/line_events.h"
#include "analyzer/importers/xplane/space.h"

namespace stallscope::importers::xplane {

class HostPlanes {
 public:
  HostPlanes(SpaceBytes& bytes, const TimeBase& times, RunBuilder& builder)
      : bytes_(bytes), times_(times), builder_(builder), host_(builder) {}

  Status Add(const Plane& plane);
  HostRecord& record() { return host_; }
  Launches& launches() { return launches_; }

 private:
  // What is known of all events of one name.
  struct Kind {
    bool known = false;
    bool step = false;  // one of them has a step's number
    HostRole role = HostRole::kNone;
    uint16_t span_class = 0;
    std::optional<uint32_t> kept;  // in HostEvents::names
  };
  Kind Learn(const EventName& name, const EventStats& stats);
  // Records what an event says of the trainer.
  void Take(const EventName& name, const EventStats& stats, int64_t start_ns, int64_t end_ns,
            Kind& kind, HostThread& thread);

  SpaceBytes& bytes_;
  const TimeBase& times_;
  RunBuilder& builder_;
  HostRecord host_;
  Launches launches_;
};

}  // namespace stallscope::importers::xplane
