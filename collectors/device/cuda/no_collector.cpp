// In the place of cupti_collector.cpp where the toolkit had no CUPTI.
#include "collectors/device/cuda/activity_collector.h"

namespace stallscope::device::cuda {
namespace {

Error NoCupti() {
  return {ErrorKind::kRun, "this build has no CUPTI", "cuda",
          "build with a toolkit that has cupti.h"};
}

}  // namespace

Result<std::shared_ptr<ActivityCollector>> ActivityCollector::Join(
    const std::shared_ptr<DeviceTracks>&, double) {
  return NoCupti();
}

Result<std::string> ActivityCollector::Look() { return NoCupti(); }

}  // namespace stallscope::device::cuda
