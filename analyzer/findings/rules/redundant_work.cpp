// Row 17: ops that have no effect: casts, a second resize or crop to the same size; neighbors whose
// constants fold into one op.
#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::redundant_work {
namespace {

struct Redundant {
  std::string what;
  const char* advice = nullptr;
};

// The next op behind `op` of this map that `passes` does not let pass, also in a later map.
template <class Passes>
std::optional<NextOp> NextBehind(const Spec& spec, const StageSpec& stage, size_t op,
                                 Passes passes) {
  const StageSpec* at = &stage;
  while (std::optional<NextOp> next = OpBehind(spec, *at, op)) {
    if (!passes(next->call)) return next;
    op = next->stages_on == 0 ? op + 1 : 0;
    at = next->stage;
  }
  return std::nullopt;
}

// A later op because of which `op` of this map may go. A picture that is enlarged again is blurred,
// perhaps on purpose.
std::optional<NextOp> MadeIdleBy(const Spec& spec, const StageSpec& stage, const OpCall& op,
                                 size_t at) {
  std::optional<NextOp> later;
  if (op.name() == "resize") {
    later = NextBehind(spec, stage, at,
                       [](const OpCall& next) { return MovesOnly(next) && !IsCrop(next); });
    if (later &&
        (later->call.name() != "resize" || later->call.Integer("size") >= op.Integer("size"))) {
      later.reset();
    }
  } else if (op.name() == "cast" && op.Word("dtype") == "float32") {
    later = NextBehind(spec, stage, at, MovesOnly);
    if (later && later->call.name() != "normalize" && later->call.name() != "scale") later.reset();
  }
  return later;
}

std::optional<Redundant> RedundantIn(const MapSpec& map) {
  const std::vector<OpCall> ops = OpsOf(map);
  if (const std::optional<IdleOp> idle = FindIdleOp(ops)) {
    return Redundant{
        fmt::format("{}, redundant next to {}", ops[idle->op].Text(), ops[idle->beside].Text()),
        "drop the ops that change nothing"};
  }
  if (const std::optional<FoldedPair> folded = FindFoldedPair(ops)) {
    return Redundant{fmt::format("{} and {}, which are {}", ops[folded->first].Text(),
                                 ops[folded->first + 1].Text(), folded->as.Text()),
                     "fold the constants into one op"};
  }
  return std::nullopt;
}

constexpr Advice kResizeOnce = {
    .tf_data =
        R"py(image = tf.image.resize(image, size)  # once, to the size that the model takes)py",
    .pytorch = R"py(v2.Resize(size)  # once, to the size that the model takes)py"};

// `also`: maps whose work is more because of the ops.
Draft Idle(const Case& c, StageId map, const std::string& what,
           const std::vector<StageId>& also = {}) {
  double share = BlamedForWork(c, map);
  std::vector<StageId> maps = {map};
  for (const StageId other : also) {
    share += BlamedForWork(c, other);
    maps.push_back(other);
  }
  Draft draft =
      About(c, map, share,
            fmt::format("{} of step time is spent waiting for {}{} runs {}", Percent(share),
                        NamesOf(c, maps),
                        also.empty() ? ", which" : " behind it, because " + NameOf(c, map), what));
  ShowWaiting(draft, c, map, BlamedForWork(c, map));
  for (const StageId other : also) ShowWaiting(draft, c, other, BlamedForWork(c, other));
  draft.finding.stands_alone = true;
  return draft;
}

// A picture that is resized twice. A trace does not show types and sizes within a map, so a cast or
// a crop may well have an effect; and of several pictures each may be resized.
void OfTrace(const Case& c, std::vector<Draft>& drafts) {
  for (const StageId map : TracedPipeline(c)) {
    if (!IsMap(c, map) || BlamedForWork(c, map) < kModerateShare) continue;
    if (PicturesHandedOn(c, map) != 1) continue;
    const std::vector<std::string> ops = OpsOfACall(c, map);
    const size_t first = FirstOp(ops, OpFamily::kResize);
    const size_t second = FirstOp(ops, OpFamily::kResize, first + 1);
    if (second >= ops.size()) continue;
    Draft draft = Idle(
        c, map,
        fmt::format("{} and then {} on each image", ShortName(ops[first]), ShortName(ops[second])));
    RecommendUnpriced(draft, "resize once, to the final size", Patch(),
                      "a trace does not show how much work one resize saves: " + ToMeasure(c));
    draft.advice = &kResizeOnce;
    drafts.push_back(std::move(draft));
    return;
  }
}

// The ops of this map that a later map makes idle, or a later op that is no neighbor.
std::optional<Draft> IdleBecauseOfLater(const Case& c, const StageSpec& stage, const MapSpec& map) {
  std::vector<OpCall> ops = OpsOf(map);
  for (size_t i = 0; i < ops.size(); ++i) {
    const std::optional<NextOp> later = MadeIdleBy(*c.spec, stage, ops[i], i);
    if (!later.has_value()) continue;
    std::vector<StageId> also;
    for (const StageSpec* next = &stage; next != later->stage;) {
      const auto* between = As<MapSpec>(*++next);
      if (between == nullptr || between->input != map.input) continue;
      // Of a map that goes on behind the op, only that much is saved.
      if (next != later->stage || OpsOf(*between).back().Text() == later->call.Text()) {
        also.push_back(StageNamed(c, next->name));
      }
    }
    const bool resize = ops[i].name() == "resize";
    Draft draft =
        Idle(c, StageNamed(c, stage.name),
             resize ? fmt::format("{} and then {} on each image", ops[i].Text(), later->call.Text())
                    : fmt::format("{}, which {} does anyway", ops[i].Text(), later->call.Text()),
             also);
    if (draft.finding.share < kModerateShare) continue;
    Patch patch;
    if (ops.size() == 1) {
      patch.changes.emplace_back(RemoveChange{stage.name});
    } else {
      ops.erase(ops.begin() + static_cast<ptrdiff_t>(i));
      patch.changes.emplace_back(SetOps(stage.name, Texts(ops, 0, ops.size())));
    }
    RecommendLessWork(
        draft, c, resize ? "resize once, to the final size" : "drop the ops that change nothing",
        std::move(patch));
    if (resize) draft.advice = &kResizeOnce;
    return draft;
  }
  return std::nullopt;
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!Worth(c, Category::kInputStall)) return;
  if (!c.spec.has_value()) return OfTrace(c, drafts);
  if (c.spec->rewrites.constant_folding) return;
  for (const StageSpec& stage : c.spec->stages) {
    const auto* map = As<MapSpec>(stage);
    const StageId id = StageNamed(c, stage.name);
    if (map == nullptr) continue;
    const std::optional<Redundant> redundant = RedundantIn(*map);
    if (!redundant.has_value()) {
      if (std::optional<Draft> draft = IdleBecauseOfLater(c, stage, *map)) {
        drafts.push_back(*std::move(draft));
        return;
      }
      continue;
    }
    if (BlamedForWork(c, id) < kModerateShare) continue;
    Draft draft = Idle(c, id, redundant->what);
    RecommendLessWork(draft, c, redundant->advice, Setting("rewrites.constant_folding", true));
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
