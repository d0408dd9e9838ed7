// A graph as both backends of this room keep it: the launches. Inside this room.
#ifndef STALLSCOPE_COLLECTORS_DEVICE_LAUNCH_GRAPH_H_
#define STALLSCOPE_COLLECTORS_DEVICE_LAUNCH_GRAPH_H_

#include <atomic>
#include <utility>
#include <vector>

#include "collectors/device/device.h"

namespace stallscope::device {

class LaunchGraph : public Graph {
 public:
  explicit LaunchGraph(std::vector<Launch> launches)
      : launches_(std::move(launches)), id_(next_id_.fetch_add(1) + 1) {}
  size_t launches() const override { return launches_.size(); }
  uint64_t id() const override { return id_; }
  const std::vector<Launch>& list() const { return launches_; }

 private:
  inline static std::atomic<uint64_t> next_id_{0};
  const std::vector<Launch> launches_;
  const uint64_t id_;
};

// What a call that may not stand inside a capture, or outside of one, says.
inline Error CaptureError(const char* what) {
  return Error{ErrorKind::kRun, what, "stream", "capture launches only, one capture at a time"};
}

}  // namespace stallscope::device

#endif  // STALLSCOPE_COLLECTORS_DEVICE_LAUNCH_GRAPH_H_
