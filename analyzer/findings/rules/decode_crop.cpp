// Row 22: the whole picture is decoded for a crop of it.
#include <fmt/format.h>

#include "analyzer/findings/facts.h"
#include "analyzer/findings/rules/rules.h"
#include "analyzer/findings/spec_view.h"
#include "analyzer/findings/thresholds.h"
#include "analyzer/findings/workers.h"

namespace stallscope::findings {
namespace {

// "decode_jpeg, random_resized_crop(224)"; empty where there is no such pair.
std::string CropBehindDecode(const MapSpec& map) {
  const std::vector<OpCall> ops = OpsOf(map);
  for (size_t i = 0; i + 1 < ops.size(); ++i) {
    if (ops[i].name() != "decode_jpeg" || ops[i].Flag("crop")) continue;
    const bool crop = ops[i + 1].name() == "crop" || ops[i + 1].name() == "random_resized_crop";
    if (crop) return ops[i].Text() + ", " + ops[i + 1].Text();
  }
  return "";
}

}  // namespace

void DecodeCrop(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!c.spec.has_value() || c.spec->rewrites.crop_aware_decode) return;
  if (!Worth(c, attribution::Category::kInputStall)) return;
  for (const auto& stage : c.run.stages) {
    const auto* map = As<MapSpec>(c, stage.id);
    const double share = BlamedForWork(c, stage.id);
    if (map == nullptr || map->on == MapOn::kDevice || share < kModerateShare) continue;
    const std::string pair = CropBehindDecode(*map);
    if (pair.empty()) continue;
    Draft draft = About(
        "decode-crop", c, stage.id, share,
        fmt::format("{} decodes whole pictures to keep a crop of each ({})", stage.name, pair));
    Show(draft, Evidence::Kind::kSpans,
         fmt::format("{}: {} of step time waits for it", stage.name, Percent(share)));
    // 1,180 whole pictures a second, 1,510 by the region of a random crop, 1,830 by a centre of
    // 224.
    Recommend(draft, "decode no more than the crop keeps",
              Setting("rewrites.crop_aware_decode", true),
              WithTimeTimes(stage.id, {0.92, 0.82, 0.65}));
    drafts.push_back(std::move(draft));
    return;
  }
}

}  // namespace stallscope::findings
