// Row 13: what each step costs once is spread over too few samples.
#include <algorithm>

#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::batch_size {
namespace {

// Launches and reductions take as long for two samples as for one.
double ShareOncePerStep(const Case& c) {
  double share = 0;
  if (Worth(c, Category::kLaunch)) share += Share(c, Category::kLaunch);
  if (Worth(c, Category::kCommunication)) share += Share(c, Category::kCommunication);
  return share;
}

void Check(const Case& c, const Load* load, std::vector<Draft>& drafts) {
  double share = ShareOncePerStep(c);
  if (share < kModerateShare || load == nullptr) return;
  const double computed = FixedPartOfCompute(c) * Share(c, Category::kCompute);
  share += computed;
  StageId batch;
  for (const auto& stage : c.run.stages) {
    if (RoleOf(c, stage.id) == StageRole::kBatch) batch = stage.id;
  }
  const auto* spec = As<BatchSpec>(c, batch);
  // Most foreign traces do not show how many samples a step has: the gain is known, the size is
  // not.
  const auto& steps = c.attribution.steps;
  const bool known = spec != nullptr || std::any_of(steps.begin(), steps.end(),
                                                    [](const auto& s) { return s.samples > 0; });
  const auto now = spec != nullptr ? spec->size : static_cast<int64_t>(load->batch + 0.5);
  Draft draft = About(
      c, batch, share,
      fmt::format("{} of step time is a fixed cost per step, {}", Percent(share),
                  known ? fmt::format("spread over {} samples", now) : "whatever the batch size"));
  Show(draft, Evidence::Kind::kStep,
       KnownShares(c, {Category::kLaunch, Category::kCommunication}) + " of step time" +
           (computed > 0
                ? fmt::format("; compute that is the same for any batch, {}", Percent(computed))
                : ""));
  draft.args.value = known ? std::to_string(2 * now) : "2 * batch_size";
  Recommend(draft,
            fmt::format("use batches {}, and scale the learning rate accordingly",
                        known ? fmt::format("of {}", 2 * now) : "twice as large"),
            spec != nullptr ? Setting(NameOf(c, batch) + ".size", 2 * now) : Patch(),
            WithLargerBatch(c, batch, 2));
  CostsMemory(draft, BytesOfBatch(c));
  drafts.push_back(std::move(draft));
}

}  // namespace

extern const Rule kRule = {
    .id = "batch-size",
    .row = 13,
    .shortens = Parts(Category::kLaunch, Category::kCommunication),
    .check = Check,
    .advice = {
        .tf_data = R"py(ds = ds.batch({value}))py",
        .pytorch = R"py(loader = DataLoader(dataset, batch_size={value}))py",
        .dali = R"py(@pipeline_def(batch_size={value}, num_threads=4, device_id=0)
def pipe(): ...)py",
        .grain = R"py(ds = ds.batch({value}))py",
    }};

}  // namespace stallscope::findings::batch_size
