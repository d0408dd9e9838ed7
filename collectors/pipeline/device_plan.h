// How a device can run an op of a map by itself, on a whole batch: which region of each image
// becomes the new one, or what its values are multiplied by. Randomness is drawn here, the same for
// each element as on the host; only the arithmetic runs on the device.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/base/result.h"
#include "collectors/pipeline/batch_ops.h"
#include "collectors/pipeline/element.h"
#include "collectors/pipeline/pipeline.h"

namespace stallscope::pipeline {

struct DevicePlan {
  // Five per image: x, y, width, height, and 1 where it is mirrored. Resized to the new
  // image's size. Empty: the op changes values, not places.
  std::vector<int32_t> regions;
  // A factor for each channel, then an offset for each. Empty beside no regions: a cast.
  std::vector<float> channels;
};

// Of an op on samples of the form `before`, one for each id. Nothing where only the host can do it.
// kRun where the op cannot be done on such samples. Any thread.
Result<std::optional<DevicePlan>> PlanForDevice(const OpInstance& op,
                                                const std::vector<ElementId>& ids, uint64_t seed,
                                                const BatchOps::Form& before);

}  // namespace stallscope::pipeline
