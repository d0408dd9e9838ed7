// Row 9: every run repeats expensive work whose result never changes.
#include "analyzer/findings/rules/rule.h"
#include "analyzer/findings/stores.h"

namespace stallscope::findings::snapshot {
namespace {

// Blame on the maps alone: a snapshot is read from the same disk as the source.
double ShareOfMaps(const Case& c, const StablePrefix& prefix) {
  double share = 0;
  for (size_t i = 1; i <= prefix.last; ++i) {
    share += SharedOut(c, prefix, i);
  }
  return share;
}

void OfTrace(const Case& c, std::vector<Draft>& drafts) {
  const std::vector<StageId> pipeline = TracedPipeline(c);
  const std::optional<TracedPrefix> prefix = TracedPrefixOf(c, pipeline);
  if (!prefix.has_value()) return;
  const StageId last = pipeline[prefix->last];
  Draft draft = About(c, last, prefix->of_maps,
                      fmt::format("{} of step time is preprocessing whose result is the same in "
                                  "every run ({})",
                                  Percent(prefix->of_maps), prefix->names));
  Show(draft, Evidence::Kind::kSpans,
       fmt::format("{}: no random operation was recorded up to this point", NameOf(c, last)));
  RecommendUnpriced(draft,
                    fmt::format("if nothing up to {} is random, write its output to disk once, and "
                                "read it in every later run",
                                NameOf(c, last)),
                    Patch(),
                    "this trace does not show how fast the results can be read: " + ToMeasure(c));
  drafts.push_back(std::move(draft));
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!c.spec.has_value()) return OfTrace(c, drafts);
  const std::optional<StoreCase> store = StoreCaseOf(c);
  if (!store.has_value() || !store->prefix.maps) return;
  const double share = ShareOfMaps(c, store->prefix);
  if (share < kModerateShare) return;
  const StageId last = StageNamed(c, c.spec->stages[store->prefix.last].name);
  Draft draft = About(c, last, share,
                      fmt::format("{} of step time is preprocessing whose result is the same "
                                  "in every run ({})",
                                  ShareText(share, store->estimated), store->names));
  Show(draft, Evidence::Kind::kSpans,
       store->prefix.whole
           ? fmt::format("{}: no random ops up to this point", NameOf(c, last))
           : fmt::format("{}: its random ops stay behind the snapshot", NameOf(c, last)));
  Patch patch = StoreBehind(*c.spec, store->prefix,
                            {FreshName(*c.spec, "snapshot"), SnapshotSpec{"snapshot"}});
  const std::string text = fmt::format(
      "write the output of {} before its random ops to disk once, and read it in every later run",
      NameOf(c, last));
  const std::string whole = fmt::format(
      "write the output of {} to disk once, and read it in every later run", NameOf(c, last));
  RecommendUnpriced(draft, store->prefix.whole ? whole : text, std::move(patch),
                    "the first run with it is no faster, and this run does not show how fast the "
                    "results can be read: `stallscope replay --verify` fills it and measures both");
  const double bytes = store->element_bytes > 0 ? store->element_bytes : store->usual_bytes;
  draft.finding.recommendation->only_measured =
      ReadFromDisk(c, bytes * static_cast<double>(store->elements));
  drafts.push_back(std::move(draft));
}

}  // namespace

extern const Rule kRule = {
    .id = "snapshot",
    .row = 9,
    .shortens = Parts(Category::kInputStall),
    .check = Check,
    .advice = {
        .tf_data =
            R"py(ds = ds.map({stage}, num_parallel_calls=tf.data.AUTOTUNE).snapshot("/path/to/snapshot"))py",
        .pytorch =
            R"py(torch.save(torch.stack([{stage}(i) for i in range(len(dataset))]), "snapshot.pt")  # once
images = torch.load("snapshot.pt", mmap=True))py",
    }};

}  // namespace stallscope::findings::snapshot
