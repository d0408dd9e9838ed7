// Row 6: work that has a form for whole batches is done element by element.
#include <algorithm>

#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::vectorise {
namespace {

// True if the whole map works on single values, or if its elements are so cheap that handing them
// over is the main cost.
bool WouldHelp(const Case& c, StageId stage, const MapSpec& map) {
  const std::vector<OpCall> ops = OpsOf(map);
  if (ops.empty() || !ops.back().op->batched) return false;
  const attribution::StageUse* use = UseOf(c, stage);
  if (use == nullptr || use->elements == 0) return false;
  return std::all_of(ops.begin(), ops.end(), IsPerValue) || use->service_ns.mean < kCheapServiceNs;
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!c.spec.has_value() || c.spec->rewrites.vectorise) return;
  if (!Worth(c, Category::kInputStall)) return;
  const Spec& spec = *c.spec;
  const size_t batch = FirstOf<BatchSpec>(spec);
  if (batch == 0 || batch >= spec.stages.size()) return;
  const StageSpec& before = spec.stages[batch - 1];
  const auto* map = As<MapSpec>(before);
  const StageId id = StageNamed(c, before.name);
  if (map == nullptr || map->on == MapOn::kDevice) return;
  // The batch would fail on elements of unequal size.
  if (!OneSizeBefore(spec, batch)) return;
  const double share = BlamedForWork(c, id);
  if (share < kModerateShare || !WouldHelp(c, id, *map)) return;
  Draft draft = About(c, id, share,
                      fmt::format("{} of step time is spent waiting for {}, which processes "
                                  "elements one by one and could process whole batches",
                                  Percent(share), before.name));
  Show(draft, Evidence::Kind::kSpans,
       fmt::format("{}: {} per element", before.name, Duration(UseOf(c, id)->service_ns.mean)));
  RecommendUnpriced(
      draft, fmt::format("batch before {}, and map whole batches", before.name),
      Setting("rewrites.vectorise", true),
      "a run does not show how fast the same work is on whole batches: replay it with the change");
  drafts.push_back(std::move(draft));
}

}  // namespace

extern const Rule kRule = {
    .id = "vectorise",
    .row = 6,
    .shortens = Parts(Category::kInputStall),
    .check = Check,
    .advice = {
        .tf_data =
            R"py(ds = ds.batch(batch_size).map({stage}, num_parallel_calls=tf.data.AUTOTUNE))py",
        .pytorch = R"py(class Batched(torch.utils.data.Dataset):
    def __getitems__(self, indices):  # called once a batch
        return {stage}(self.data[indices]))py",
        .grain = R"py(ds = ds.batch(batch_size).map({stage}))py",
    }};

}  // namespace stallscope::findings::vectorise
