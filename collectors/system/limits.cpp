#include "analyzer/base/units.h"
#include "collectors/system/cgroup_tree.h"
#include "collectors/system/host.h"
#include "collectors/system/sources.h"

namespace stallscope::system {
namespace {

// Looked at anew each time, on the way up the tree: an orchestrator may resize a running group.
// That costs some opens, once in five seconds.
class Limits : public Source {
 public:
  explicit Limits(const std::string& root)
      : Source("limits", 5 * kNsPerSecond), root_(root), cgroup_(LocateCgroup(root)) {}

  void Read(CounterSink& sink, Effort) override {
    if (const auto cores = CoresAllowed(root_)) {
      allowed_.Put(sink, uint64_t{*cores});
    } else {
      Miss(allowed_.row(), "the affinity could not be read");
    }
    if (const auto quota = TightestCpuQuota(cgroup_)) {
      cores_.Put(sink, quota->cores);
    } else {
      Miss(cores_.row(), "no CPU quota is set");
    }
    if (const auto limit = TightestMemoryLimit(cgroup_)) {
      memory_.Put(sink, limit->bytes);
    } else {
      Miss(memory_.row(), "no memory limit is set");
    }
  }

 private:
  std::string root_;
  Cgroup cgroup_;
  Counter allowed_{counter::kProcessCoresAllowed};
  Counter cores_{counter::kCgroupCores};
  Counter memory_{counter::kCgroupMemoryLimit};
};

}  // namespace

std::unique_ptr<Source> MakeLimits(const std::string& root) {
  return std::make_unique<Limits>(root);
}

}  // namespace stallscope::system
