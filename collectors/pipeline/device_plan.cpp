#include "collectors/pipeline/device_plan.h"

#include <string_view>

#include "collectors/data/image.h"
#include "collectors/pipeline/ops/make.h"
#include "collectors/pipeline/random.h"

namespace stallscope::pipeline {
namespace {

void Add(DevicePlan& plan, const data::Rect& part, bool mirrored) {
  plan.regions.insert(plan.regions.end(),
                      {part.x, part.y, part.width, part.height, mirrored ? 1 : 0});
}

}  // namespace

Result<std::optional<DevicePlan>> PlanForDevice(const OpInstance& op,
                                                const std::vector<ElementId>& ids, uint64_t seed,
                                                const BatchOps::Form& before) {
  const std::string_view name = op.call.name();
  DevicePlan plan;
  if (name == "cast") return std::optional(plan);
  const data::Shape& shape = before.sample;
  if (shape.rank() != 3) return std::optional<DevicePlan>();
  if (name == "normalize") {
    if (shape[2] != 3) return std::optional<DevicePlan>();
    const data::NormalizeBy by = NormalizationOf(op.call);
    plan.channels.assign(by.scale.begin(), by.scale.end());
    plan.channels.insert(plan.channels.end(), by.offset.begin(), by.offset.end());
    return std::optional(std::move(plan));
  }
  const auto width = static_cast<int>(shape[1]);
  const auto height = static_cast<int>(shape[0]);
  for (const ElementId& id : ids) {
    if (IsCrop(op)) {
      STALLSCOPE_ASSIGN_OR_RETURN(const data::Rect part, CropPlan{op}.Of(id, seed, width, height));
      Add(plan, part, false);
    } else if (name == "resize") {
      Add(plan, {0, 0, width, height}, false);
    } else if (name == "flip") {
      // As the host's flip draws it.
      Add(plan, {0, 0, width, height}, Random(seed, op.salt, id).Uniform() >= 0.5);
    } else {
      return std::optional<DevicePlan>();
    }
  }
  return std::optional(std::move(plan));
}

}  // namespace stallscope::pipeline
