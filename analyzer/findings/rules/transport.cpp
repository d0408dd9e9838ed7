// Row 15: batches that are large, or made of many objects, cost time between the processes of a
// job.
#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::transport {
namespace {

constexpr Advice kWithoutWorkers = {
    .pytorch = R"py(loader = DataLoader(dataset, batch_size, num_workers=0))py"};

// Of a batch, what its workers do besides sending it.
double WorkNs(const Case& c, LoaderId loader) {
  double ns = 0;
  for (const auto& stage : c.run.stages) {
    const attribution::StageUse* const use = UseOf(c, stage.id);
    if (stage.loader != loader || use == nullptr || model::IsTransport(c.run, stage.id)) continue;
    if (stage.kind == "map" || stage.kind == "batch") ns += use->service_ns.mean;
  }
  return ns;
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  for (const auto& stage : c.run.stages) {
    const attribution::StageUse* const use = UseOf(c, stage.id);
    if (JobLoaderOf(c, stage.id) == nullptr || use == nullptr) continue;
    if (!model::IsTransport(c.run, stage.id)) continue;
    // Without a core a small batch takes long, too.
    const double share = Blamed(c, stage.id, {Cause::kCpu, Cause::kBlocked, Cause::kIo});
    if (share < kModerateShare) continue;
    Draft draft = About(c, stage.id, share,
                        fmt::format("{} of step time is spent sending batches from the workers to "
                                    "the trainer",
                                    Percent(share)));
    Show(draft, Evidence::Kind::kSpans,
         fmt::format("{}: {} per batch on each side", stage.name, Duration(use->service_ns.mean)));
    // Either side's sending takes longer than all of the work that workers are there for.
    const double work = WorkNs(c, stage.loader);
    if (work > 0 && work * kSendsLonger < use->service_ns.mean) {
      Show(draft, Evidence::Kind::kSpans,
           fmt::format("{} per batch is what the workers do besides", Duration(work)));
      draft.advice = &kWithoutWorkers;
      RecommendUnpriced(
          draft, "load in the job's own process, where nothing has to be sent: num_workers=0",
          LoaderSetting(c, stage.id, "num_workers", int64_t{0}),
          WasNotPredicted("what the job gains without workers"));
      drafts.push_back(std::move(draft));
      continue;
    }
    RecommendUnpriced(draft,
                      "send less: no lists or NumPy arrays where tensors will do, uint8 instead of "
                      "float32, few large tensors per batch instead of many small ones",
                      Patch(), "stallscope cannot predict how much smaller the batches could be");
    drafts.push_back(std::move(draft));
  }
}

}  // namespace

extern const Rule kRule = {
    .id = "transport",
    .row = 15,
    .shortens = Parts(Category::kInputStall),
    .check = Check,
    .advice = {
        .pytorch = R"py(def collate(samples):  # in the worker: one tensor per field, not a list
    return torch.stack([image for image, _ in samples]), torch.tensor([y for _, y in samples])
loader = DataLoader(dataset, batch_size, num_workers=num_workers, collate_fn=collate))py",
    }};

}  // namespace stallscope::findings::transport
