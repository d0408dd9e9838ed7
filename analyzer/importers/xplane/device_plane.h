// Reads the planes of devices: kernels, copies and memsets of their streams, and the steps that a
// plane marks. One thread at a time.
//
// A plane's lines show the same time several times over: `Steps`, `XLA Modules`, `Framework Ops`
// and the like are derived from the streams' events and enclose them. Only what the device itself
// did counts: the `Stream #…` lines if there are any, else `XLA Ops`.
#pragma once

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

  // A plane without events adds nothing: profilers list devices that the run never used.
  Status Add(const Plane& plane);
  // What the `Steps` lines say.
  const std::vector<StepMark>& marks() const { return marks_; }

 private:
  Status AddStream(const Plane& plane, const Line& line, uint32_t device);
  // XLA ops enclose those of their bodies: each instant goes to the innermost.
  Status AddOps(const Plane& plane, const Line& line, uint32_t device);
  Status AddMarks(const Plane& plane, const Line& line);
  TrackId TrackOf(const Line& line, uint32_t device);
  // Of the event's kind, looked up once per plane.
  trace::StringId NameOf(const Plane& plane, const EventName* name);

  SpaceBytes& bytes_;
  const TimeBase& times_;
  const Launches& launches_;
  RunBuilder& builder_;
  std::vector<trace::StringId> names_;  // of the current plane
  std::vector<StepMark> marks_;
};

}  // namespace stallscope::importers::xplane
