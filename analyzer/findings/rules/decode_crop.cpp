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

Draft Whole(const Case& c, StageId map, const std::string& pair) {
  const double share = BlamedForWork(c, map);
  Draft draft = About(c, map, share,
                      fmt::format("{} of step time is spent waiting for {}, which decodes entire "
                                  "images only to crop them ({})",
                                  Percent(share), NameOf(c, map), pair));
  ShowWaiting(draft, c, map, share);
  return draft;
}

constexpr const char* kAdvice = "decode only what the crop keeps";

// A crop of the decoded picture itself: one behind a resize needs all of it.
void OfTrace(const Case& c, std::vector<Draft>& drafts) {
  for (const StageId map : TracedPipeline(c)) {
    if (!IsMap(c, map) || BlamedForWork(c, map) < kModerateShare) continue;
    const std::vector<std::string> ops = OpsOfACall(c, map);
    const size_t decode = FirstOp(ops, OpFamily::kDecode);
    const size_t crop = FirstOp(ops, OpFamily::kCrop, decode);
    if (crop >= ops.size() || FirstOp(ops, OpFamily::kResize, decode) < crop) continue;
    Draft draft = Whole(c, map, ShortName(ops[decode]) + ", " + ops[crop]);
    RecommendUnpriced(draft, kAdvice, Patch(),
                      "this trace does not show how large the images are: " + ToMeasure(c));
    drafts.push_back(std::move(draft));
    return;
  }
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!Worth(c, Category::kInputStall)) return;
  if (!c.spec.has_value()) return OfTrace(c, drafts);
  if (c.spec->rewrites.crop_aware_decode) return;
  for (const auto& stage : c.run.stages) {
    const auto* map = As<MapSpec>(c, stage.id);
    const double share = BlamedForWork(c, stage.id);
    if (map == nullptr || map->on == MapOn::kDevice || share < kModerateShare) continue;
    const std::optional<Pair> pair = CropBehindDecode(*map);
    if (!pair.has_value()) continue;
    Draft draft = Whole(c, stage.id, pair->text);
    draft.args.value = std::to_string(pair->side);
    RecommendLessWork(draft, c, kAdvice, Setting("rewrites.crop_aware_decode", true));
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
