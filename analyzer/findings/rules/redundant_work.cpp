// Row 17: ops that have no effect: casts, a second resize or crop to the same size.
#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::redundant_work {
namespace {

std::optional<std::string> IdlePair(const MapSpec& map) {
  const std::vector<OpCall> ops = OpsOf(map);
  const std::optional<IdleOp> idle = FindIdleOp(ops);
  if (!idle.has_value()) return std::nullopt;
  return fmt::format("{}, redundant next to {}", ops[idle->op].Text(), ops[idle->beside].Text());
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!c.spec.has_value() || c.spec->rewrites.constant_folding) return;
  if (!Worth(c, Category::kInputStall)) return;
  for (const StageSpec& stage : c.spec->stages) {
    const auto* map = As<MapSpec>(stage);
    const StageId id = StageNamed(c, stage.name);
    if (map == nullptr || BlamedForWork(c, id) < kModerateShare) continue;
    const std::optional<std::string> pair = IdlePair(*map);
    if (!pair.has_value()) continue;
    Draft draft = About(c, id, BlamedForWork(c, id),
                        fmt::format("{} of step time is spent waiting for {}, which runs {}",
                                    Percent(BlamedForWork(c, id)), stage.name, *pair));
    Show(draft, Evidence::Kind::kSpans,
         fmt::format("{}: {} of step time is spent waiting for it", stage.name,
                     Percent(BlamedForWork(c, id))));
    Recommend(draft, "drop the ops that change nothing", Setting("rewrites.constant_folding", true),
              WithFewerPasses(id, *map, kPassesOfIdleCast));
    draft.finding.stands_alone = true;
    drafts.push_back(std::move(draft));
    return;
  }
}

}  // namespace

extern const Rule kRule = {
    .id = "redundant-work",
    .row = 17,
    .shortens = Parts(Category::kInputStall),
    .check = Check,
    .advice = {
        .tf_data =
            R"py(images = tf.image.convert_image_dtype(images, tf.float32)  # once, and no cast or resize beside it)py",
        .pytorch = R"py(v2.ToDtype(torch.float32, scale=True)  # once)py",
        .dali =
            R"py(images = fn.crop_mirror_normalize(images, dtype=types.FLOAT, mean=mean, std=std)  # one op)py",
    }};

}  // namespace stallscope::findings::redundant_work
