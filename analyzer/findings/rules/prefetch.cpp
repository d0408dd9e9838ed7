// Row 12: nothing is prepared ahead of the trainer, or too little for the bursts.
#include <fmt/format.h>

#include <algorithm>

#include "analyzer/findings/facts.h"
#include "analyzer/findings/rules/rules.h"
#include "analyzer/findings/spec_view.h"
#include "analyzer/findings/thresholds.h"

namespace stallscope::findings {

using attribution::Cause;

namespace {

// Everything works in threads of its own from here on, with so many batches between.
Effect Ahead(int64_t batches) {
  return {[batches](Load& load, double) {
    if (load.stages.empty()) return;
    StageLoad stage;
    stage.own_threads = true;
    stage.items = 1 / std::max(1.0, load.batch);
    stage.places = static_cast<double>(batches);
    load.stages.push_back(stage);
  }};
}

Effect Deeper(StageId stage, int64_t batches) {
  return {[stage, batches](Load& load, double) {
    StageLoad* use = load.Find(stage);
    if (use != nullptr) use->places = static_cast<double>(batches);
  }};
}

void SetMemory(const Case& c, int64_t batches, Draft& draft) {
  const double bytes = BytesOfBatch(c) * static_cast<double>(batches);
  if (bytes > 0) draft.finding.recommendation->memory_bytes = static_cast<int64_t>(bytes);
}

// The last one that works on the host.
StageId LastOnHost(const Case& c) {
  StageId last;
  for (StageId id : InOrder(c)) {
    const auto* map = As<MapSpec>(c, id);
    if (map == nullptr || map->on == MapOn::kHost) last = id;
  }
  return last;
}

Patch FirstPrefetch(const Case& c, StageId last) {
  Patch patch;
  if (!c.spec.has_value()) return patch;
  if (As<PrefetchSpec>(c, last) != nullptr) {
    return Setting(NameOf(c, last) + ".buffer_size", kFirstPrefetch);
  }
  StageSpec stage{FreshName(*c.spec, "prefetch"), PrefetchSpec{Knob{kFirstPrefetch, false}}};
  patch.changes.emplace_back(
      InsertChange{std::move(stage), Place::After(c.spec->stages.back().name)});
  return patch;
}

// The last stage works in the trainer's thread.
void Missing(const Case& c, std::vector<Draft>& drafts) {
  const StageId last = LastOnHost(c);
  const attribution::StageUse* use = UseOf(c, last);
  if (use == nullptr || HasOwnThreads(c, last)) return;
  const double share = Share(c, attribution::Category::kInputStall);
  Draft draft =
      About("prefetch", c, last, share,
            fmt::format("no batch is prepared ahead: the trainer asks for one and waits, {} "
                        "of its time",
                        Percent(share)));
  Show(draft, Evidence::Kind::kSpans,
       fmt::format("{} works in the trainer's thread", NameOf(c, last)));
  draft.words.value = std::to_string(kFirstPrefetch);
  Recommend(draft, fmt::format("prepare {} batches ahead", kFirstPrefetch), FirstPrefetch(c, last),
            Ahead(kFirstPrefetch));
  SetMemory(c, kFirstPrefetch, draft);
  drafts.push_back(std::move(draft));
}

// The capacity is there, and bursts empty the buffer.
void TooShallow(const Case& c, std::vector<Draft>& drafts) {
  const double share = BlamedOn(c, Cause::kBuffer);
  if (share < kModerateShare || !c.spec.has_value()) return;
  for (const auto& stage : c.run.stages) {
    const auto* prefetch = As<PrefetchSpec>(c, stage.id);
    if (prefetch == nullptr || prefetch->buffer_size.automatic) continue;
    const int64_t now = prefetch->buffer_size.value;
    const int64_t deeper = std::min(kMostPrefetch, std::max<int64_t>(2 * kFirstPrefetch, 4 * now));
    if (deeper <= now) continue;
    Draft draft = About("prefetch", c, stage.id, share,
                        fmt::format("{} of step time is bursts that {} in {} cannot cover; "
                                    "in the mean the input is fast enough",
                                    Percent(share), Counted(now, "batch", "batches"), stage.name));
    Show(draft, Evidence::Kind::kQueue,
         fmt::format("{}: {}", stage.name, Counted(now, "place", "places")));
    draft.words.value = std::to_string(deeper);
    Recommend(draft, fmt::format("let {} hold {} batches", stage.name, deeper),
              Setting(stage.name + ".buffer_size", deeper), Deeper(stage.id, deeper));
    SetMemory(c, deeper - now, draft);
    drafts.push_back(std::move(draft));
    return;
  }
}

}  // namespace

void Prefetch(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!Worth(c, attribution::Category::kInputStall)) return;
  Missing(c, drafts);
  TooShallow(c, drafts);
}

}  // namespace stallscope::findings
