// Which lanes a run has, in which order and groups. Cheap: nothing is drawn. Any thread.
//
// A run of a job is grouped by process: the program, then the workers of each of its loaders. Other
// runs are grouped by stage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "gui/session/open_run.h"

namespace stallscope::viewmodel {

enum class LaneKind : uint8_t {
  kSteps,       // one segment per step
  kCategories,  // of a device's time
  kGroup,       // several threads as one: of a stage, a process or a loader
  kThread,
  kStream,
  kCopyEngine,
  kSampler,
  kQueue,  // depth over time
  kCounter
};

// For a thread with nested work: all depths in one row.
constexpr size_t kAllDepths = static_cast<size_t>(-1);

constexpr size_t kNoRow = static_cast<size_t>(-1);

// Every member has an initializer, so that naming only some gives no warning.
struct Lane {
  LaneKind kind = LaneKind::kThread;
  std::string key = {};  // of ToggleLane
  std::string name = {};
  std::string detail = {};  // "4 workers, 98% busy", "0 to 16"
  int indent = 0;
  bool group = false;  // has lanes below it
  bool collapsed = false;
  float height = 1;    // in lines
  TrackId track = {};  // of a thread, stream or copy engine
  StageId stage = {};
  size_t index = 0;                   // of a queue, counter or device; kNoRow: a group's head
  size_t depth = kAllDepths;          // of a thread
  std::vector<TrackId> members = {};  // of a group: the tracks that it is drawn from
};

// Without those in collapsed groups. `toggled` holds the keys of groups that are not as they are by
// default.
std::vector<Lane> PlanLanes(const session::OpenRun& run, const std::set<std::string>& toggled);

}  // namespace stallscope::viewmodel
