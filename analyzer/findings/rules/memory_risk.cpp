// Row 23: the run comes close to its memory limit.
#include <algorithm>

#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::memory_risk {
namespace {

struct Smaller {
  Patch patch;
  std::string text;
  int64_t freed = 0;
};

int64_t HalfOf(int64_t value) { return std::max<int64_t>(1, value / 2); }

// The knob that halves what this stage holds; nothing if it has none.
std::optional<Smaller> HalfTheRoom(const Case& c, const attribution::MemoryUse::Held& held) {
  const std::string name = NameOf(c, held.stage);
  const auto freed = static_cast<int64_t>(held.bytes / 2);
  if (const auto* shuffle = As<ShuffleSpec>(c, held.stage)) {
    const int64_t half = HalfOf(shuffle->buffer_size);
    return Smaller{Setting(name + ".buffer_size", half),
                   fmt::format("let {} draw from {} elements", name, half), freed};
  }
  if (const auto* prefetch = As<PrefetchSpec>(c, held.stage)) {
    const int64_t half = HalfOf(prefetch->buffer_size.value);
    if (prefetch->buffer_size.automatic || half == prefetch->buffer_size.value) return std::nullopt;
    return Smaller{Setting(name + ".buffer_size", half),
                   fmt::format("let {} hold {} batches", name, half), freed};
  }
  const auto* cache = As<CacheSpec>(c, held.stage);
  if (cache != nullptr && cache->where == CacheWhere::kMemory) {
    return Smaller{Setting(name + ".where", "disk"), fmt::format("keep {} on disk", name),
                   static_cast<int64_t>(held.bytes)};
  }
  return std::nullopt;
}

void RecommendSmaller(const Case& c, Draft& draft) {
  auto stages = c.attribution.memory.stages;
  std::stable_sort(stages.begin(), stages.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  for (const auto& held : stages) {
    const std::optional<Smaller> smaller = HalfTheRoom(c, held);
    if (!smaller.has_value() || held.bytes == 0) continue;
    draft.finding.stage = held.stage;
    RecommendUnpriced(draft, smaller->text, smaller->patch,
                      "it saves memory; a run with the change shows what it costs in speed",
                      Aim::kMemory);
    draft.finding.recommendation->memory_bytes = -smaller->freed;
    return;
  }
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  const auto& memory = c.attribution.memory;
  if (memory.limit_bytes == 0 || !memory.peak_rss_bytes.has_value()) return;
  const auto limit = static_cast<double>(memory.limit_bytes);
  const auto peak = static_cast<double>(*memory.peak_rss_bytes);
  if (peak < kMemoryRisk * limit) return;
  Draft draft = About(c, StageId::None(), 0,
                      fmt::format("the run used {} of its {} memory limit ({}): it may be killed",
                                  Bytes(peak), Bytes(limit), Percent(peak / limit)));
  draft.finding.severity = peak >= kMemoryDanger * limit ? Severity::kHigh : Severity::kMedium;
  ShowCounter(draft, c, "memory.rss", "resident memory");
  for (const auto& held : memory.stages) {
    if (held.bytes == 0) continue;
    Show(draft, Evidence::Kind::kQueue,
         fmt::format("{}: {}", NameOf(c, held.stage), Bytes(static_cast<double>(held.bytes))));
    draft.finding.evidence.back().stage = held.stage;
  }
  RecommendSmaller(c, draft);
  draft.finding.stands_alone = true;
  drafts.push_back(std::move(draft));
}

}  // namespace

extern const Rule kRule = {.id = "memory-risk", .row = 23, .check = Check};

}  // namespace stallscope::findings::memory_risk
