// Reads the planes of devices: kernels, copies and memsets of their streams, and where a plane says
// that a step began. Private to the room; one thread at a time.
//
// A plane's lines tell the same time several times over: `Steps`, `XLA Modules`, `Framework Ops`
// and the like are made from the streams' events and enclose them. Only what the device itself did
// is taken: the `Stream #…` lines where there are any, else `XLA Ops`.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_XPLANE_DEVICE_PLANE_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_XPLANE_DEVICE_PLANE_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "analyzer/base/result.h"
#include "analyzer/importers/foreign/launches.h"
#include "analyzer/importers/foreign/run_builder.h"
#include "analyzer/importers/xplane/line_events.h"
#include "analyzer/importers/xplane/space.h"

namespace stallscope::importers::xplane {

bool IsDevicePlane(const Plane& plane);

class DevicePlanes {
 public:
  DevicePlanes(SpaceBytes& bytes, const TimeBase& times, const Launches& launches,
               RunBuilder& builder)
      : bytes_(bytes), times_(times), launches_(launches), builder_(builder) {}

  // A plane without events leaves no trace: the profiler lists devices that the run never used.
  Status Add(const Plane& plane);
  // What the `Steps` lines say.
  const std::vector<StepMark>& marks() const { return marks_; }

 private:
  Status AddStream(const Plane& plane, const Line& line, uint32_t device);
  // Ops of XLA enclose those of their bodies: each instant goes to the innermost.
  Status AddOps(const Plane& plane, const Line& line, uint32_t device);
  Status AddMarks(const Plane& plane, const Line& line);
  TrackId TrackOf(const Line& line, uint32_t device);
  // Of the event's kind, looked up once a plane.
  trace::StringId NameOf(const Plane& plane, const EventName* name);

  SpaceBytes& bytes_;
  const TimeBase& times_;
  const Launches& launches_;
  RunBuilder& builder_;
  std::vector<trace::StringId> names_;  // of the plane at hand
  std::vector<StepMark> marks_;
};

}  // namespace stallscope::importers::xplane

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_XPLANE_DEVICE_PLANE_H_
