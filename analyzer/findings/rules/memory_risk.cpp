// Row 23: the run comes close to its memory limit, or the device's, or will at its present rate.
#include <algorithm>

#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::memory_risk {
namespace {

constexpr Advice kShuffle = {
    .tf_data = R"py(ds = ds.shuffle({value}).map(decode)  # of records, not of decoded images)py",
    .pytorch =
        R"py(loader = DataLoader(dataset, batch_size, shuffle=True)  # of indices: no buffer)py",
    .dali = R"py(data = fn.readers.tfrecord(path=files, index_path=indexes, features=features,
                           random_shuffle=True, initial_fill={value}))py",
};
constexpr Advice kPrefetch = {
    .tf_data = R"py(ds = ds.prefetch({value}))py",
    .pytorch =
        R"py(loader = DataLoader(dataset, batch_size, num_workers=num_workers, prefetch_factor=1))py",
};
constexpr Advice kCache = {
    .tf_data = R"py(ds = ds.cache("/path/to/cache")  # on disk)py",
    .pytorch = R"py(images = torch.load("cache.pt", mmap=True)  # read from disk as it is used)py",
};
constexpr Advice kDevice = {
    .tf_data =
        R"py(tf.keras.mixed_precision.set_global_policy("mixed_bfloat16")  # before the model is built)py",
    .pytorch = R"py(with torch.autocast("cuda", dtype=torch.bfloat16):
    loss = criterion(model(images), labels)
# or keep fewer activations: torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False))py",
    .grain = R"py(layer = nn.Dense(features, dtype=jnp.bfloat16, param_dtype=jnp.float32))py",
};
constexpr Advice kAhead = {
    .tf_data =
        R"py(ds = ds.apply(tf.data.experimental.prefetch_to_device("/gpu:0", buffer_size={value}))  # last)py",
};
constexpr Advice kGrowth = {
    .pytorch = R"py(total += loss.item()  # not the tensor, which keeps its graph)py"};
struct Smaller {
  Patch patch;
  std::string text;
  int64_t freed = 0;
  const Advice* advice = nullptr;
  std::string value;
};

int64_t HalfOf(int64_t value) { return std::max<int64_t>(1, value / 2); }

// The knob that halves what this stage holds; nothing if it has none.
std::optional<Smaller> HalfTheRoom(const Case& c, const attribution::MemoryUse::Held& held) {
  const std::string name = NameOf(c, held.stage);
  const auto freed = static_cast<int64_t>(held.bytes / 2);
  if (const auto* shuffle = As<ShuffleSpec>(c, held.stage)) {
    const int64_t half = HalfOf(shuffle->buffer_size);
    return Smaller{Setting(name + ".buffer_size", half),
                   fmt::format("shrink {} to {} elements", name, half), freed, &kShuffle,
                   std::to_string(half)};
  }
  if (const auto* prefetch = As<PrefetchSpec>(c, held.stage)) {
    const int64_t half = HalfOf(prefetch->buffer_size.value);
    if (prefetch->buffer_size.automatic || half == prefetch->buffer_size.value) return std::nullopt;
    return Smaller{Setting(name + ".buffer_size", half),
                   fmt::format("shrink {} to {} batches", name, half), freed, &kPrefetch,
                   std::to_string(half)};
  }
  const auto* cache = As<CacheSpec>(c, held.stage);
  if (cache != nullptr && cache->where == CacheWhere::kMemory) {
    return Smaller{Setting(name + ".where", "disk"), fmt::format("keep {} on disk", name),
                   static_cast<int64_t>(held.bytes), &kCache, ""};
  }
  return std::nullopt;
}

// True if some stage can hold less.
bool RecommendSmaller(const Case& c, Draft& draft) {
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
    draft.advice = smaller->advice;
    draft.args.value = smaller->value;
    return true;
  }
  return false;
}

void OfHost(const Case& c, std::vector<Draft>& drafts) {
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

// A buffer that holds what has grown, or a cache with a limit that leaves enough.
bool MayBeFilling(const Case& c, double grown, double left) {
  double buffers = 0;
  for (const auto& held : c.attribution.memory.stages) {
    const auto* cache = As<CacheSpec>(c, held.stage);
    if (cache == nullptr) buffers += static_cast<double>(held.bytes);
    if (cache != nullptr && cache->max_bytes > 0 && static_cast<double>(cache->max_bytes) < left) {
      return true;
    }
  }
  return buffers >= grown;
}

// Memory that goes on growing, by what is kept of past steps or by a cache that will not fit.
void OfGrowth(const Case& c, std::vector<Draft>& drafts) {
  const auto& memory = c.attribution.memory;
  const double seconds = static_cast<double>(c.attribution.window.ns()) / 1e9;
  const double grown = memory.growth_bytes_per_s * seconds;
  if (memory.limit_bytes == 0 || !memory.peak_rss_bytes.has_value()) return;
  const double left = std::max(
      0.0, static_cast<double>(memory.limit_bytes) - static_cast<double>(*memory.peak_rss_bytes));
  const double filled_in = left / memory.growth_bytes_per_s;
  const double least =
      std::max(kGrownBytes, kGrownOfLimit * static_cast<double>(memory.limit_bytes));
  if (!(grown >= least && filled_in <= kFilledWithinS)) return;
  if (MayBeFilling(c, grown, left)) return;
  const auto steps = static_cast<double>(c.attribution.steps.size());
  Draft draft = About(
      c, StageId::None(), 0,
      fmt::format(
          "memory grew steadily, by {} in {}: at this rate the run reaches its {} limit after {}",
          Bytes(grown), Counted(c.attribution.steps.size(), "step"),
          Bytes(static_cast<double>(memory.limit_bytes)),
          Counted(static_cast<uint64_t>(filled_in / seconds * steps), "more step")));
  draft.finding.severity = Severity::kMedium;
  ShowCounter(draft, c, "memory.rss", "resident memory");
  if (!RecommendSmaller(c, draft)) {
    draft.advice = &kGrowth;
    RecommendUnpriced(
        draft,
        "find what keeps the data of past steps: a list that grows, a loss that is kept with "
        "its graph, a cache without a limit",
        Patch(), "stallscope does not see what the memory is used for", Aim::kMemory);
  }
  draft.finding.stands_alone = true;
  drafts.push_back(std::move(draft));
}

// Batches that wait on the device.
double BytesAhead(const Case& c) {
  const int64_t ahead = c.spec->transfer.prefetch_to_device;
  return ahead < 2 ? 0 : BytesOfBatch(c) * static_cast<double>(ahead);
}

// Batches that wait there are the cheapest to give up. A narrow type halves a step's memory; a run
// that already has one needs smaller batches.
void RecommendLess(const Case& c, const DeviceRoom& memory, Draft& draft) {
  if (!c.spec.has_value()) return;
  const Precision now = c.spec->trainer.precision;
  const size_t batch = FirstOf<BatchSpec>(*c.spec);
  constexpr const char* kWhy =
      "it saves device memory; a run with the change shows its effect on speed";
  if (BytesAhead(c) > memory.peak / 2) {
    const int64_t half = HalfOf(c.spec->transfer.prefetch_to_device);
    draft.advice = &kAhead;
    draft.args.value = std::to_string(half);
    RecommendUnpriced(
        draft,
        fmt::format("copy only {} ahead", Counted(static_cast<uint64_t>(half), "batch", "batches")),
        Setting("transfer.prefetch_to_device", half), kWhy, Aim::kMemory);
    const int64_t fewer = c.spec->transfer.prefetch_to_device - half;
    CostsMemory(draft, -BytesOfBatch(c) * static_cast<double>(fewer));
  } else if (now == Precision::kFp32 || now == Precision::kTf32) {
    draft.advice = &kDevice;
    RecommendUnpriced(draft, "compute in bfloat16: a step then needs about half as much memory",
                      Setting("trainer.precision", "bf16"), kWhy, Aim::kMemory);
    CostsMemory(draft, -(memory.peak - BytesAhead(c)) / 2);
  } else if (batch < c.spec->stages.size() && As<BatchSpec>(c.spec->stages[batch])->size > 1) {
    const StageSpec& stage = c.spec->stages[batch];
    const int64_t half = HalfOf(As<BatchSpec>(stage)->size);
    const int64_t batches = 2 * BatchesPerUpdate(c);
    draft.advice = &kAccumulate;
    draft.args.value = std::to_string(half);
    draft.args.batches = std::to_string(batches);
    Patch patch = Setting(stage.name + ".size", half);
    patch.changes.emplace_back(SetTo("trainer.accumulate", batches));
    RecommendUnpriced(draft,
                      fmt::format("use batches of {}, and accumulate gradients over {}", half,
                                  batches == 2 ? "two" : std::to_string(batches)),
                      std::move(patch), kWhy, Aim::kMemory);
  }
}

void OfDevice(const Case& c, std::vector<Draft>& drafts) {
  const std::optional<DeviceRoom> memory = DeviceRoomOf(c);
  if (!memory.has_value() || memory->peak < kMemoryRisk * memory->limit) return;
  const double used = memory->peak / memory->limit;
  Draft draft = About(c, StageId::None(), 0,
                      fmt::format("the run used {} of the device's {} ({}): a larger batch, or "
                                  "another program on the device, would fail",
                                  Bytes(memory->peak), Bytes(memory->limit), Percent(used)));
  draft.finding.severity = used >= kMemoryDanger ? Severity::kHigh : Severity::kMedium;
  Show(draft, Evidence::Kind::kCopy, fmt::format("device: {} at its peak", Bytes(memory->peak)));
  RecommendLess(c, *memory, draft);
  draft.finding.stands_alone = true;
  drafts.push_back(std::move(draft));
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  OfHost(c, drafts);
  if (drafts.empty()) OfGrowth(c, drafts);
  OfDevice(c, drafts);
}

}  // namespace

extern const Rule kRule = {.id = "memory-risk", .row = 23, .check = Check, .advice = kShuffle};

}  // namespace stallscope::findings::memory_risk
