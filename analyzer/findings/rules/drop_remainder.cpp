// Rows 13 and 18: each further size of a batch is another graph to capture and to keep.
#include <algorithm>
#include <map>

#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::drop_remainder {
namespace {

struct Sizes {
  uint32_t usual = 0;
  size_t odd = 0;  // batches
  size_t all = 0;
};

Sizes SizesOf(const Case& c) {
  std::map<uint32_t, size_t> counts;
  Sizes sizes;
  for (const auto& batch : c.run.rows.batches) ++counts[batch.size];
  size_t most = 0;
  for (const auto& [size, count] : counts) {
    sizes.all += count;
    if (count <= most) continue;
    most = count;
    sizes.usual = size;
  }
  sizes.odd = sizes.all - most;
  return sizes;
}

constexpr const char* kAdvice = "drop an epoch's partial batch, or repeat before batching";

// A framework's trace shows no batch's size, but whether a partial one is handed on, and that
// functions were compiled again.
void OfTrace(const Case& c, std::vector<Draft>& drafts) {
  const std::vector<StageId> pipeline = TracedPipeline(c);
  const size_t at = FirstOf(c, pipeline, StageRole::kBatch);
  if (at >= pipeline.size() || SettingOf(c, pipeline[at], "drop_remainder") != "false") return;
  // With a repeat before it, a batch goes on into the next epoch.
  if (FirstOf(c, pipeline, StageRole::kRepeat) < at) return;
  const CountedTime compiled = CountedIn(c, "compilations");
  if (compiled.count < 2 || compiled.share < kModerateShare) return;
  Draft draft = About(
      c, pipeline[at], std::min(1.0, compiled.share),
      fmt::format("{} hands on an epoch's partial batch, and {} compilations take {} of step time: "
                  "the step is compiled, and kept, once more for each size",
                  NameOf(c, pipeline[at]), compiled.count, Percent(std::min(1.0, compiled.share))));
  draft.finding.severity = Severity::kLow;
  ShowCounter(draft, c, "compilations", fmt::format("{} compilations", compiled.count));
  const int64_t size = NumberSettingOf(c, pipeline[at], "batch_size");
  draft.args.value = size > 0 ? std::to_string(size) : "batch_size";
  RecommendUnpriced(draft, kAdvice, Patch(),
                    "this trace does not show which sizes were compiled: " + ToMeasure(c));
  drafts.push_back(std::move(draft));
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!c.spec.has_value()) return OfTrace(c, drafts);
  const size_t at = FirstOf<BatchSpec>(*c.spec);
  if (at >= c.spec->stages.size()) return;
  const auto& batch = std::get<BatchSpec>(c.spec->stages[at].kind);
  const Sizes sizes = SizesOf(c);
  const bool captured = c.spec->trainer.graph == GraphMode::kCaptured;
  const bool many = static_cast<double>(sizes.odd) >= kOddBatches * static_cast<double>(sizes.all);
  // The last batch of an epoch is harmless if nothing is captured.
  if (batch.drop_remainder || sizes.odd < 2 || !(captured && many)) return;
  const std::string& name = c.spec->stages[at].name;
  const double share = static_cast<double>(sizes.odd) / static_cast<double>(sizes.all);
  Draft draft = About(
      c, StageNamed(c, name), share,
      fmt::format("{} of {} batches have a size other than {}: the step's graph is captured, and "
                  "kept, once more for each size",
                  sizes.odd, sizes.all, sizes.usual));
  draft.finding.severity = Severity::kLow;
  Show(draft, Evidence::Kind::kStep, fmt::format("batches of a size other than {}", sizes.usual));
  draft.args.value = std::to_string(sizes.usual);
  RecommendUnpriced(draft, kAdvice, Setting(name + ".drop_remainder", true),
                    "captures are not recorded separately: replay it with the change");
  drafts.push_back(std::move(draft));
}

}  // namespace

extern const Rule kRule = {
    .id = "drop-remainder",
    .row = 13,
    .shortens = Parts(Category::kLaunch),
    .check = Check,
    .advice = {
        .tf_data = R"py(ds = ds.batch({value}, drop_remainder=True))py",
        .pytorch = R"py(loader = DataLoader(dataset, batch_size={value}, drop_last=True))py",
        .dali = R"py(loader = DALIGenericIterator(pipe, ["images", "labels"], reader_name="reader",
                             last_batch_policy=LastBatchPolicy.DROP))py",
        .grain = R"py(ds = ds.batch({value}, drop_remainder=True))py",
    }};

}  // namespace stallscope::findings::drop_remainder
