// Row 11: the shuffle holds decoded pictures where it could hold files a fifth of their size.
#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::shuffle_place {
namespace {

uint64_t HeldBy(const Case& c, StageId stage) {
  for (const auto& held : c.attribution.memory.stages) {
    if (held.stage == stage) return held.bytes;
  }
  return 0;
}

Draft Holding(const Case& c, StageId shuffle, double held) {
  Draft draft =
      About(c, shuffle, 0,
            fmt::format("{} holds {} of decoded elements", NameOf(c, shuffle), Bytes(held)));
  draft.finding.severity = Severity::kMedium;
  return draft;
}

constexpr const char* kMemoryOnly = "it saves memory and does not change the speed";

// The shapes and types of a framework's trace show how large an element is.
void OfTrace(const Case& c, std::vector<Draft>& drafts) {
  const std::vector<StageId> pipeline = TracedPipeline(c);
  const size_t at = FirstOf(c, pipeline, StageRole::kShuffle);
  if (at >= pipeline.size()) return;
  const StageId map = pipeline[WorkBefore(c, pipeline, at)];
  const QueueId queue = c.run.stages[pipeline[at].value].queue;
  if (!IsMap(c, map) || !c.run.stages[map.value].ordered) return;
  if (!queue.known() || !Runs(c, map, OpFamily::kDecode)) return;
  const uint64_t elements = c.run.queues[queue.value].info.capacity;
  const double held = BytesHandedOn(c, map).value_or(0) * static_cast<double>(elements);
  if (held < static_cast<double>(kLargeBufferBytes)) return;
  Draft draft = Holding(c, pipeline[at], held);
  Show(draft, Evidence::Kind::kQueue,
       fmt::format("{}: {} of {} from {}", NameOf(c, pipeline[at]), Counted(elements, "element"),
                   SettingOf(c, map, "shapes"), NameOf(c, map)));
  RecommendUnpriced(draft, fmt::format("shuffle before {}", NameOf(c, map)), Patch(), kMemoryOnly,
                    Aim::kMemory);
  drafts.push_back(std::move(draft));
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!c.spec.has_value()) return OfTrace(c, drafts);
  if (c.spec->rewrites.shuffle_before_decode) return;
  const auto& stages = c.spec->stages;
  const size_t at = FirstOf<ShuffleSpec>(*c.spec);
  if (at == 0 || at >= stages.size()) return;
  const auto* map = As<MapSpec>(stages[at - 1]);
  if (map == nullptr || !map->deterministic || !Decodes(*map)) return;
  const StageId id = StageNamed(c, stages[at].name);
  const uint64_t held = HeldBy(c, id);
  if (held < kLargeBufferBytes) return;
  const double before =
      BytesOfElement(c) * static_cast<double>(std::get<ShuffleSpec>(stages[at].kind).buffer_size);
  Draft draft = Holding(c, id, static_cast<double>(held));
  Show(draft, Evidence::Kind::kQueue,
       before > 0 ? fmt::format("{}: the same elements take {} before {}", stages[at].name,
                                Bytes(before), stages[at - 1].name)
                  : fmt::format("{}: after {}", stages[at].name, stages[at - 1].name));
  RecommendUnpriced(draft, fmt::format("shuffle before {}", stages[at - 1].name),
                    Setting("rewrites.shuffle_before_decode", true), kMemoryOnly, Aim::kMemory);
  if (before > 0) {
    draft.finding.recommendation->memory_bytes =
        static_cast<int64_t>(before) - static_cast<int64_t>(held);
  }
  drafts.push_back(std::move(draft));
}

}  // namespace

extern const Rule kRule = {
    .id = "shuffle-place",
    .row = 11,
    .shortens = Parts(Category::kInputStall),
    .check = Check,
    .advice = {
        .tf_data =
            R"py(ds = ds.shuffle(buffer_size).map(decode, num_parallel_calls=tf.data.AUTOTUNE))py",
        .grain = R"py(ds = grain.MapDataset.source(source).shuffle(seed=seed).map(decode))py",
    }};

}  // namespace stallscope::findings::shuffle_place
