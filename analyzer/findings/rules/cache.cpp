// Row 8: every epoch repeats the same work, and its results fit into memory.
#include "analyzer/findings/rules/rule.h"
#include "analyzer/findings/stores.h"

namespace stallscope::findings::cache {
namespace {

bool Repeats(const Case& c) {
  const size_t at = FirstOf<RepeatSpec>(*c.spec);
  if (at >= c.spec->stages.size()) return HasSeveralEpochs(c);
  return std::get<RepeatSpec>(c.spec->stages[at].kind).count != 1;
}

// Nothing if the run does not show it.
std::optional<double> BytesOf(const StoreCase& store) {
  if (store.elements == 0 || store.element_bytes <= 0) return std::nullopt;
  return static_cast<double>(store.elements) * store.element_bytes;
}

// Of pictures whose size the run does not show.
std::optional<double> UsualBytesOf(const StoreCase& store) {
  if (store.elements == 0 || store.usual_bytes <= 0) return std::nullopt;
  return static_cast<double>(store.elements) * store.usual_bytes;
}

std::string WhatAnEpochHas(const StoreCase& store, const std::optional<double>& bytes) {
  if (store.elements == 0) return "the run ended within its first epoch";
  const std::string elements = Counted(store.elements, "element");
  if (!bytes.has_value()) {
    const std::optional<double> usual = UsualBytesOf(store);
    if (!usual.has_value()) {
      return fmt::format("an epoch has {}; the trace does not show their size at this point",
                         elements);
    }
    return fmt::format("an epoch has {}, usually {} at this point; the trace does not show it",
                       elements, Bytes(*usual));
  }
  return fmt::format("an epoch has {}, {} at this point", elements, Bytes(*bytes));
}

// A framework's trace does not say how large a data set is: whoever reads the advice knows.
void OfTrace(const Case& c, std::vector<Draft>& drafts) {
  const std::vector<StageId> pipeline = TracedPipeline(c);
  const size_t repeat = FirstOf(c, pipeline, StageRole::kRepeat);
  if (repeat >= pipeline.size()) return;
  const std::optional<TracedPrefix> prefix = TracedPrefixOf(c, pipeline);
  if (!prefix.has_value()) return;
  const StageId last = pipeline[prefix->last];
  Draft draft = About(c, last, prefix->share,
                      fmt::format("{} of step time is work that every epoch repeats ({})",
                                  Percent(prefix->share), prefix->names));
  Show(draft, Evidence::Kind::kSpans,
       fmt::format("{} starts the next epoch, and no cache comes before it; no random operation "
                   "was recorded in {}",
                   NameOf(c, pipeline[repeat]), NameOf(c, last)));
  const std::optional<double> bytes = BytesHandedOn(c, last);
  RecommendUnpriced(
      draft,
      fmt::format("if nothing up to {} is random, cache after it, in memory if all of an epoch "
                  "fits{}, else in a file; faster from the second epoch on",
                  NameOf(c, last),
                  bytes.has_value() ? fmt::format(" ({} per element)", Bytes(*bytes)) : ""),
      Patch(), "this trace does not show how large an epoch is: " + ToMeasure(c));
  drafts.push_back(std::move(draft));
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!c.spec.has_value()) return OfTrace(c, drafts);
  const std::optional<StoreCase> store = StoreCaseOf(c);
  if (!store.has_value() || !Repeats(c)) return;
  const std::optional<double> bytes = BytesOf(*store);
  const auto room = kCacheableMemory * static_cast<double>(FreeMemory(c));
  const std::optional<double> usual = UsualBytesOf(*store);
  const bool fits = bytes.has_value() ? *bytes <= room : room <= 0 || usual.value_or(0) <= room;
  const StageId last = StageNamed(c, c.spec->stages[store->prefix.last].name);
  Draft draft = About(c, last, store->share,
                      fmt::format("{} of step time is work that every epoch repeats ({})",
                                  ShareText(store->share, store->estimated), store->names));
  Show(draft, Evidence::Kind::kSpans, WhatAnEpochHas(*store, bytes));
  CacheSpec cache;
  cache.where = fits ? CacheWhere::kMemory : CacheWhere::kDisk;
  if (fits && bytes.has_value()) {
    cache.max_bytes = RoomFor(*bytes);
  } else if (fits && usual.has_value()) {
    const double most = kLeanPicture * *usual;
    cache.max_bytes = RoomFor(room > 0 ? std::min(room / kCacheHeadroom, most) : most);
  } else if (fits && room > 0) {
    cache.max_bytes = static_cast<int64_t>(room);
  }
  // The speed of later epochs: the first one fills the cache.
  const Assumed& left = fits ? kLeftFromMemory : kLeftFromDisk;
  const std::string text = fmt::format("cache in {} after {}; faster from the second epoch on",
                                       ToWord(cache.where), NameOf(c, last));
  Patch patch = StoreBehind(*c.spec, store->prefix, {FreshName(*c.spec, "cache"), cache});
  const std::optional<double> first_epoch = FirstEpoch(c, *store);
  if (first_epoch.has_value()) {
    Recommend(draft, text, std::move(patch), Stored(c, *store, left, *first_epoch));
  } else {
    RecommendUnpriced(
        draft, text, std::move(patch),
        HasSeveralEpochs(c)
            ? "the recorded steps took less than an epoch, which fills the cache: record more steps"
            : "the run ended within the first epoch, which fills the cache: record several epochs");
  }
  if (fits) CostsMemory(draft, bytes.value_or(usual.value_or(0)));
  drafts.push_back(std::move(draft));
}

}  // namespace

extern const Rule kRule = {
    .id = "cache",
    .row = 8,
    .shortens = Parts(Category::kInputStall),
    .check = Check,
    .advice = {
        .tf_data =
            R"py(ds = ds.map({stage}, num_parallel_calls=tf.data.AUTOTUNE).cache()  # before shuffling and random ops)py",
        .pytorch =
            R"py(images = torch.stack([{stage}(i) for i in range(len(dataset))])  # once, before any random ops
dataset = torch.utils.data.TensorDataset(images, labels))py",
        .dali =
            R"py(images = fn.decoders.image(jpegs, device="mixed", cache_size=megabytes, cache_type="largest")
# and stick_to_shard=True in the reader, so that each device sees the same images again)py",
    }};

}  // namespace stallscope::findings::cache
