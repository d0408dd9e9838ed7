// Row 4: PyTorch's DataLoader shuts its workers down after each epoch and starts new ones for the
// next. A profiler's file shows long fetches; a recorded job shows the start and the end.
#include "analyzer/findings/restarts.h"
#include "analyzer/findings/rules/rule.h"
#include "analyzer/model/job_spec.h"

namespace stallscope::findings::persistent_workers {
namespace {

// Workers stay for the iterators of one loader.
void RecommendToKeep(const Case& c, StageId stage, Draft& draft) {
  const model::Loader* const loader = JobLoaderOf(c, stage);
  const bool kept = loader != nullptr && model::LoaderSpecOf(loader->info).persistent_workers;
  if (PassesOf(c, c.run.stages[stage.value].loader).OnePerStep()) {
    RecommendOneIterator(draft);
  } else if (kept || (loader != nullptr && model::IsMadeAgain(loader->info))) {
    RecommendUnpriced(draft,
                      fmt::format("make the loader once, before the first epoch{}",
                                  kept ? ": persistent_workers=True keeps the workers of one loader"
                                       : ", with persistent_workers=True: each new one starts "
                                         "workers of its own"),
                      Patch(), "stallscope cannot change where the job makes its loader");
  } else {
    RecommendUnpriced(draft, "keep the workers between epochs: persistent_workers=True",
                      LoaderSetting(c, stage, "persistent_workers", true),
                      WasNotPredicted("how much of it is between epochs"));
  }
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!Worth(c, Category::kInputStall)) return;
  for (const auto& stage : c.run.stages) {
    const double startup = Blamed(c, stage.id, {Cause::kStartup});
    if (startup >= kModerateShare) {
      Draft draft =
          About(c, stage.id, startup,
                fmt::format("{} of step time is spent while the workers of {} start or end",
                            Percent(startup), stage.name));
      RecommendToKeep(c, stage.id, draft);
      drafts.push_back(std::move(draft));
    }
    if (!IsDataLoader(c, stage.id)) continue;
    const Restarts restarts = RestartsOf(c, stage.id);
    if (restarts.share < kModerateShare) continue;
    Draft draft = About(c, stage.id, restarts.share,
                        fmt::format("{} of step time is lost between epochs: the {}'s workers are "
                                    "shut down, and new ones are started for the next one",
                                    Percent(restarts.share), stage.name));
    const Restart& longest = restarts.all.front();
    Show(draft, Evidence::Kind::kSpans,
         fmt::format("{}: {}, the longest: {} until the workers ended, {} until the "
                     "first batch of the new ones; other fetches take {}",
                     stage.name, Counted(restarts.all.size(), "restart"),
                     Duration(static_cast<double>(longest.shut_down_ns)),
                     Duration(static_cast<double>(longest.first_ns)), Duration(restarts.fetch_ns)));
    draft.finding.evidence.back().start_ns = longest.start_ns;
    draft.finding.evidence.back().end_ns = longest.end_ns;
    RecommendUnpriced(
        draft, "keep the workers between epochs: persistent_workers=True", Patch(),
        "the file does not show how much of an epoch's first fetch is the workers' start and how "
        "much is the batch: record the run with persistent_workers=True");
    drafts.push_back(std::move(draft));
  }
}

}  // namespace

extern const Rule kRule = {
    .id = "persistent-workers",
    .row = 4,
    .shortens = Parts(Category::kInputStall),
    .check = Check,
    .advice = {
        .pytorch = R"py(loader = DataLoader(dataset, batch_size, num_workers=num_workers,
                    persistent_workers=True)  # made once, before the first epoch)py",
    }};

}  // namespace stallscope::findings::persistent_workers
