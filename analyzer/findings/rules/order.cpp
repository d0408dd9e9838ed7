// Row 4: finished elements wait for an unfinished one, because the stage keeps their order.
#include <algorithm>

#include "analyzer/findings/rules/rule.h"
#include "analyzer/model/job_spec.h"

namespace stallscope::findings::order {
namespace {

std::string LongestHold(const Case& c, StageId stage) {
  int64_t longest = 0;
  for (const auto& release : c.run.rows.releases) {
    if (release.stage != stage) continue;
    longest = std::max(longest, release.released_ns - release.completed_ns);
  }
  return longest > 0 ? fmt::format(", for up to {}", Duration(static_cast<double>(longest))) : "";
}

// Without order some of the held time becomes waiting for unfinished elements.
Effect NotHeld(double share_of_held) {
  return {[share_of_held](Load& load, double size) { load.held_s *= 1 - share_of_held * size; },
          kSavedWithoutOrder};
}

Patch Unordered(const Case& c, StageId stage) {
  const model::Loader* const loader = JobLoaderOf(c, stage);
  if (loader == nullptr) return StageSetting(c, stage, "deterministic", false);
  // PyTorch before 2.6 has no such setting, and its recordings have no such key.
  const auto settings = model::SettingsOf(loader->info);
  const auto in_order = settings.find("in_order");
  const bool knows = in_order != settings.end() && in_order->second == "true";
  return knows ? LoaderSetting(c, stage, "in_order", false) : Patch();
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  for (const auto& stage : c.run.stages) {
    if (!WorthAt(c, stage.id, {Cause::kOrder})) continue;
    const double share = Blamed(c, stage.id, {Cause::kOrder});
    Draft draft = About(c, stage.id, share,
                        fmt::format("{} of step time is spent waiting for elements that {} has "
                                    "finished but holds back to keep their order",
                                    Percent(share), stage.name));
    Show(draft, Evidence::Kind::kSpans,
         fmt::format("{}: holds finished elements back{}", stage.name, LongestHold(c, stage.id)));
    Recommend(draft, fmt::format("let {} emit elements as they finish", stage.name),
              Unordered(c, stage.id), NotHeld(share / BlamedOn(c, Cause::kOrder)));
    drafts.push_back(std::move(draft));
  }
}

}  // namespace

extern const Rule kRule = {
    .id = "order",
    .row = 4,
    .shortens = Parts(Category::kInputStall),
    .check = Check,
    .advice = {
        .tf_data =
            R"py(ds = ds.map({stage}, num_parallel_calls=tf.data.AUTOTUNE, deterministic=False))py",
        .pytorch =
            R"py(# in_order: from torch 2.6 on
loader = DataLoader(dataset, batch_size, num_workers=num_workers, in_order=False))py",
    }};

}  // namespace stallscope::findings::order
