// Row 17: values are widened before they are only moved.
#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::late_cast {
namespace {

std::optional<std::string> EarlyPair(const MapSpec& map) {
  const std::vector<OpCall> ops = OpsOf(map);
  for (size_t i = 0; i + 1 < ops.size(); ++i) {
    if (Widens(ops[i]) && MovesOnly(ops[i + 1]))
      return ops[i].Text() + " before " + ops[i + 1].Text();
  }
  return std::nullopt;
}

Draft Early(const Case& c, StageId map, const std::string& pair) {
  const double share = BlamedForWork(c, map);
  Draft draft = About(c, map, share,
                      fmt::format("{} of step time is spent waiting for {}, which runs {} and so "
                                  "moves four times the bytes",
                                  Percent(share), NameOf(c, map), pair));
  ShowWaiting(draft, c, map, share);
  draft.finding.stands_alone = true;
  return draft;
}

constexpr const char* kAdvice = "widen values last";

// A cast before values are only moved, in a map that gets bytes or decodes them, and hands on
// floats.
void OfTrace(const Case& c, std::vector<Draft>& drafts) {
  const std::vector<StageId> pipeline = TracedPipeline(c);
  for (size_t i = 1; i < pipeline.size(); ++i) {
    const StageId map = pipeline[i];
    if (!IsMap(c, map) || BlamedForWork(c, map) < kModerateShare) continue;
    if (!HandsOn(c, map, "float")) continue;
    const std::vector<std::string> ops = OpsOfACall(c, map);
    const size_t cast = FirstOp(ops, OpFamily::kCast);
    const size_t move = FirstOp(ops, OpFamily::kMove, cast);
    const bool of_bytes =
        HandsOn(c, pipeline[i - 1], "uint8") || FirstOp(ops, OpFamily::kDecode) < cast;
    if (move >= ops.size() || !of_bytes) continue;
    Draft draft = Early(c, map, ShortName(ops[cast]) + " before " + ShortName(ops[move]));
    RecommendUnpriced(draft, kAdvice, Patch(),
                      "a trace does not show how fast the same work is on bytes: " + ToMeasure(c));
    drafts.push_back(std::move(draft));
    return;
  }
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!Worth(c, Category::kInputStall)) return;
  if (!c.spec.has_value()) return OfTrace(c, drafts);
  if (c.spec->rewrites.narrow_dtype_late_cast) return;
  for (const StageSpec& stage : c.spec->stages) {
    const auto* map = As<MapSpec>(stage);
    const StageId id = StageNamed(c, stage.name);
    if (map == nullptr || BlamedForWork(c, id) < kModerateShare) continue;
    const std::optional<std::string> pair = EarlyPair(*map);
    if (!pair.has_value()) continue;
    Draft draft = Early(c, id, *pair);
    RecommendLessWork(draft, c, kAdvice, Setting("rewrites.narrow_dtype_late_cast", true));
    drafts.push_back(std::move(draft));
    return;
  }
}

}  // namespace

extern const Rule kRule = {
    .id = "late-cast",
    .row = 17,
    .shortens = Parts(Category::kInputStall),
    .check = Check,
    .advice = {
        .tf_data = R"py(image = tf.image.random_flip_left_right(image)  # while it is uint8
image = tf.cast(image, tf.float32) / 255.0  # last)py",
        .pytorch =
            R"py(v2.Compose([v2.RandomHorizontalFlip(), v2.ToDtype(torch.float32, scale=True)]))py",
        .dali =
            R"py(images = fn.crop_mirror_normalize(images, mirror=mirror, dtype=types.FLOAT, mean=mean, std=std))py",
    }};

}  // namespace stallscope::findings::late_cast
