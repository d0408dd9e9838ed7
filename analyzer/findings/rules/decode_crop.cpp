// Row 22: whole pictures are decoded for a crop of them.
#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::decode_crop {
namespace {

struct Pair {
  std::string text;                  // "decode_jpeg, random_resized_crop(224)"
  int64_t side = 0;                  // of the crop
  const StageSpec* other = nullptr;  // the crop's map, if it is not the decode's
};

// A crop in another map must become one map with its decode. That joins only neighbors, of which
// both keep the order or neither does.
bool MayBeOneMap(const MapSpec& decode, const NextOp& crop) {
  if (crop.stages_on == 0) return true;
  const auto& other = std::get<MapSpec>(crop.stage->kind);
  return crop.stages_on == 1 && other.deterministic == decode.deterministic;
}

std::optional<Pair> CropBehindDecode(const Spec& spec, const StageSpec& stage) {
  const auto& map = std::get<MapSpec>(stage.kind);
  const std::vector<OpCall> ops = OpsOf(map);
  for (size_t i = 0; i < ops.size(); ++i) {
    if (!IsWholeDecode(ops[i])) continue;
    const std::optional<NextOp> next = OpBehind(spec, stage, i);
    if (!next.has_value() || !IsCrop(next->call) || !MayBeOneMap(map, *next)) continue;
    return Pair{ops[i].Text() + ", " + next->call.Text(), next->call.Integer("size"),
                next->stages_on > 0 ? next->stage : nullptr};
  }
  return std::nullopt;
}

// The fused map needs the workers of both, and would have the larger number of the two. Without
// workers of its own, the decode runs in those of the other.
void FuseMaps(const Case& c, const StageSpec& decode, const StageSpec& other, Patch& patch) {
  patch.changes.emplace_back(SetTo("rewrites.map_fusion", true));
  const Knob& a = std::get<MapSpec>(decode.kind).parallelism;
  const Knob& b = std::get<MapSpec>(other.kind).parallelism;
  if (a.automatic || b.automatic || !HasOwnThreads(c, StageNamed(c, decode.name))) return;
  patch.changes.emplace_back(SetTo(other.name + ".parallelism", a.value + b.value));
}

// Nothing to change where the run does it already.
Patch DecodeOnlyCrop(const Case& c, const StageSpec& decode, const StageSpec* other) {
  Patch patch;
  const RewritesSpec& now = c.spec->rewrites;
  if (!now.crop_aware_decode) patch = Setting("rewrites.crop_aware_decode", true);
  if (other != nullptr && !now.map_fusion) FuseMaps(c, decode, *other, patch);
  return patch;
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

constexpr std::string_view kDali =
    R"py(images = fn.decoders.image_random_crop(jpegs, device="mixed")
images = fn.resize(images, size={value}))py";

constexpr Advice kForTwoMaps = {
    .tf_data =
        R"py(# in one map in place of the two: what the crop keeps is chosen before decoding
image = tf.image.decode_and_crop_jpeg(data, [top, left, height, width], channels=3))py",
    .dali = kDali,
};

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
  for (const auto& stage : c.run.stages) {
    const auto* map = As<MapSpec>(c, stage.id);
    const double share = BlamedForWork(c, stage.id);
    if (map == nullptr || map->on == MapOn::kDevice || share < kModerateShare) continue;
    const StageSpec& decode = *SpecOf(c, stage.id);
    const std::optional<Pair> pair = CropBehindDecode(*c.spec, decode);
    if (!pair.has_value()) continue;
    Patch patch = DecodeOnlyCrop(c, decode, pair->other);
    if (patch.changes.empty()) continue;
    const bool two = pair->other != nullptr;
    Draft draft =
        Whole(c, stage.id, pair->text + (two ? fmt::format(" in {}", pair->other->name) : ""));
    draft.args.value = std::to_string(pair->side);
    if (two) draft.advice = &kForTwoMaps;
    RecommendLessWork(
        draft, c,
        two ? fmt::format("make {} and {} one map, and {}", stage.name, pair->other->name, kAdvice)
            : kAdvice,
        std::move(patch));
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
        .dali = kDali,
    }};

}  // namespace stallscope::findings::decode_crop
