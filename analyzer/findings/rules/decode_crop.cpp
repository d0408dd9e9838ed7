// Row 22: whole pictures are decoded for a crop of them.
#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::decode_crop {
namespace {

struct Pair {
  std::string text;  // "decode_jpeg, random_resized_crop(224)"
  int64_t side = 0;  // of the crop
};

std::optional<Pair> CropBehindDecode(const MapSpec& map) {
  const std::vector<OpCall> ops = OpsOf(map);
  for (size_t i = 0; i + 1 < ops.size(); ++i) {
    if (!IsWholeDecode(ops[i]) || !IsCrop(ops[i + 1])) continue;
    return Pair{ops[i].Text() + ", " + ops[i + 1].Text(), ops[i + 1].Integer("size")};
  }
  return std::nullopt;
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!c.spec.has_value() || c.spec->rewrites.crop_aware_decode) return;
  if (!Worth(c, Category::kInputStall)) return;
  for (const auto& stage : c.run.stages) {
    const auto* map = As<MapSpec>(c, stage.id);
    const double share = BlamedForWork(c, stage.id);
    if (map == nullptr || map->on == MapOn::kDevice || share < kModerateShare) continue;
    const std::optional<Pair> pair = CropBehindDecode(*map);
    if (!pair.has_value()) continue;
    Draft draft = About(c, stage.id, share,
                        fmt::format("{} of step time is spent waiting for {}, which decodes entire "
                                    "images only to crop them ({})",
                                    Percent(share), stage.name, pair->text));
    Show(draft, Evidence::Kind::kSpans,
         fmt::format("{}: {} of step time is spent waiting for it", stage.name, Percent(share)));
    draft.args.value = std::to_string(pair->side);
    Recommend(draft, "decode only what the crop keeps", Setting("rewrites.crop_aware_decode", true),
              WithTimeTimes(stage.id, kLeftOfCroppedDecode));
    drafts.push_back(std::move(draft));
    return;
  }
}

}  // namespace

extern const Rule kRule = {
    .id = "decode-crop",
    .row = 22,
    .shortens = Parts(Category::kInputStall),
    .check = Check,
    .advice = {
        .tf_data =
            R"py(image = tf.image.decode_and_crop_jpeg(data, [top, left, height, width], channels=3))py",
        .dali = R"py(images = fn.decoders.image_random_crop(jpegs, device="mixed")
images = fn.resize(images, size={value}))py",
    }};

}  // namespace stallscope::findings::decode_crop
