// Row 4: a map or a batch with too few workers.
#include "analyzer/findings/named_ops.h"
#include "analyzer/findings/rules/rule.h"
#include "analyzer/model/graph.h"
#include "analyzer/model/job_spec.h"

namespace stallscope::findings::map_parallelism {
namespace {

// TensorFlow may fuse a map with the batch behind it, and works on single elements there.
constexpr double kElements = 0.75;  // per sample

std::string_view UnitOf(StageRole role, const attribution::StageUse& use) {
  return role == StageRole::kBatch && use.items_per_sample < kElements ? "per batch"
                                                                       : "per element";
}

bool Automatic(const Case& c, StageId stage) {
  const auto node = model::NodeOf(c.run, c.run.stages[stage.value]);
  if (node && node->calls == R"("autotune")") return true;
  const auto* map = As<MapSpec>(c, stage);
  const auto* batch = As<BatchSpec>(c, stage);
  return IsTuned(c, stage) || (map != nullptr && map->parallelism.automatic) ||
         (batch != nullptr && batch->parallelism.automatic);
}

// A worker has one in hand and one place in the queue behind it.
void SetMemory(const Case& c, StageRole role, int64_t added, Draft& draft) {
  const double each = role == StageRole::kBatch ? BytesOfBatch(c) : BytesOfSample(c);
  CostsMemory(draft, 2 * each * static_cast<double>(added));
}

void Check(const Case& c, const Load* load, std::vector<Draft>& drafts) {
  for (const auto& stage : c.run.stages) {
    const StageRole role = RoleOf(c, stage.id);
    if (role != StageRole::kMap && role != StageRole::kBatch) continue;
    const std::initializer_list<Cause> causes = {Cause::kCpu, Cause::kIo, Cause::kBlocked,
                                                 Cause::kUnknown};
    if (!WorthAt(c, stage.id, causes) || Automatic(c, stage.id)) continue;
    if (CallsPython(c, stage.id)) continue;
    const attribution::StageUse* use = UseOf(c, stage.id);
    const int64_t now = use != nullptr ? use->workers : 1;
    const int64_t workers = WorkersFor(load, stage.id, now, kMostWorkers);
    const double share = Blamed(c, stage.id, causes);
    if ((use != nullptr && use->serial) || workers <= now) continue;
    const std::string has = Counted(static_cast<uint64_t>(now), "worker");
    Draft draft = About(c, stage.id, share,
                        fmt::format("{} of step time is spent waiting for {}, which has {}",
                                    Percent(share), stage.name, has));
    if (use != nullptr) {
      Show(draft, Evidence::Kind::kSpans,
           fmt::format("{}: {} busy {} of the time, {} {}", stage.name, has,
                       Percent(use->utilization), Duration(use->service_ns.mean),
                       UnitOf(role, *use)));
    }
    draft.args.value = WorkersInCode(c, workers);
    Patch patch = StageSetting(c, stage.id, "parallelism", workers);
    // TensorFlow may have fused the map with the batch behind it.
    if (model::IsJob(c.run) && (role == StageRole::kMap || model::BaseOf(stage.kind) == "Map")) {
      patch = LoaderSetting(c, stage.id, "num_parallel_calls", workers);
    }
    Recommend(draft, fmt::format("give {} {} workers{}", stage.name, workers, UpToTheCores(c)),
              std::move(patch), WithWorkers(stage.id, workers));
    SetMemory(c, role, workers - now, draft);
    drafts.push_back(std::move(draft));
  }
}

}  // namespace

extern const Rule kRule = {
    .id = "map-parallelism",
    .row = 4,
    .shortens = Parts(Category::kInputStall),
    .check = Check,
    .advice = {
        .tf_data = R"py(ds = ds.map({stage}, num_parallel_calls={value})  # or tf.data.AUTOTUNE)py",
        .pytorch = R"py(loader = DataLoader(dataset, batch_size, num_workers={value}))py",
        .dali = R"py(@pipeline_def(batch_size=batch_size, num_threads={value}, device_id=0)
def pipe(): ...)py",
        .grain =
            R"py(ds = ds.mp_prefetch(grain.MultiprocessingOptions(num_workers={value}))  # last)py",
    }};

}  // namespace stallscope::findings::map_parallelism
