// Row 7: the batch copies what the map before it could have written in place.
#include <algorithm>

#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::map_and_batch {
namespace {

// The batch no longer copies, and the map's workers do the rest of its work.
Effect Joined(StageId map, StageId batch) {
  return {[map, batch](Load& load, double size) {
            StageDemand* from = load.Find(map);
            StageDemand* to = load.Find(batch);
            if (from == nullptr || to == nullptr) return;
            to->service_s *= size;
            to->cpu_s *= size;
            if (!to->own_threads && from->own_threads) {
              from->service_s += from->items > 0 ? to->items * to->service_s / from->items : 0;
              to->service_s = 0;
            }
          },
          kLeftOfBatchCopy};
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!c.spec.has_value() || c.spec->rewrites.map_and_batch) return;
  const auto& stages = c.spec->stages;
  const size_t at = FirstOf<BatchSpec>(*c.spec);
  if (at == 0 || at >= stages.size()) return;
  const auto* map = As<MapSpec>(stages[at - 1]);
  const StageId batch = StageNamed(c, stages[at].name);
  if (map == nullptr || map->on == MapOn::kDevice || !map->deterministic) return;
  if (!WorthAt(c, batch, {Cause::kCpu, Cause::kCpuContention, Cause::kUnknown})) return;
  const double share = Blamed(c, batch);
  Draft draft = About(
      c, batch, share,
      fmt::format("{} of step time is spent waiting for {}, which copies what {} has just written",
                  Percent(share), stages[at].name, stages[at - 1].name));
  if (const attribution::StageUse* use = UseOf(c, batch)) {
    Show(draft, Evidence::Kind::kSpans,
         fmt::format("{}: {} per batch", stages[at].name, Duration(use->service_ns.mean)));
  }
  draft.args.stage = stages[at - 1].name;
  draft.args.value = std::to_string(std::get<BatchSpec>(stages[at].kind).size);
  Recommend(draft, fmt::format("let {} write directly into the batch", stages[at - 1].name),
            Setting("rewrites.map_and_batch", true),
            Joined(StageNamed(c, stages[at - 1].name), batch));
  drafts.push_back(std::move(draft));
}

}  // namespace

extern const Rule kRule = {
    .id = "map-and-batch",
    .row = 7,
    .shortens = Parts(Category::kInputStall),
    .check = Check,
    .advice = {
        // tf.data fuses neighbors by itself; a prefetch or a cache between
        // them is what prevents it.
        .tf_data =
            R"py(ds = ds.map({stage}, num_parallel_calls=tf.data.AUTOTUNE)  # nothing between the two
ds = ds.batch({value}, num_parallel_calls=tf.data.AUTOTUNE))py",
        .pytorch = R"py(class Batched(torch.utils.data.Dataset):
    def __getitems__(self, indices):  # called once per batch
        batch = torch.empty(len(indices), *shape)
        for place, index in zip(batch, indices):
            place.copy_({stage}(index))  # written once, and not copied by collate
        return batch
loader = DataLoader(Batched(), batch_size={value}, collate_fn=lambda batch: batch))py",
    }};

}  // namespace stallscope::findings::map_and_batch
