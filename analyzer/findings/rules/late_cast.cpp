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

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!c.spec.has_value() || c.spec->rewrites.narrow_dtype_late_cast) return;
  if (!Worth(c, Category::kInputStall)) return;
  for (const StageSpec& stage : c.spec->stages) {
    const auto* map = As<MapSpec>(stage);
    const StageId id = StageNamed(c, stage.name);
    if (map == nullptr || BlamedForWork(c, id) < kModerateShare) continue;
    const std::optional<std::string> pair = EarlyPair(*map);
    if (!pair.has_value()) continue;
    Draft draft = About(c, id, BlamedForWork(c, id),
                        fmt::format("{} of step time is spent waiting for {}, which runs {} and so "
                                    "moves four times the bytes",
                                    Percent(BlamedForWork(c, id)), stage.name, *pair));
    Show(draft, Evidence::Kind::kSpans,
         fmt::format("{}: {} of step time is spent waiting for it", stage.name,
                     Percent(BlamedForWork(c, id))));
    Recommend(draft, "widen values last", Setting("rewrites.narrow_dtype_late_cast", true),
              WithFewerPasses(id, *map, kPassesOfLateCast));
    draft.finding.stands_alone = true;
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
