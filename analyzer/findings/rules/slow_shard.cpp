// Row 24: most of what steps wait for comes from one file.
#include <algorithm>
#include <map>

#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::slow_shard {
namespace {

// Reads several files at once, so that the slow one delays no other.
Patch ReadingAround(const Case& c) {
  if (!c.spec.has_value()) return {};
  const StageSpec& stage = c.spec->stages.front();
  const auto* source = As<SourceSpec>(stage);
  const size_t files = FilesOf(c, StageNamed(c, stage.name));
  if (source == nullptr || files < 2) return {};
  const int64_t readers = std::min(static_cast<int64_t>(files), kReadersAroundAShard);
  Patch patch;
  const auto raise = [&](const char* knob, const Knob& now) {
    if (now.automatic || now.value >= readers) return;
    patch.changes.emplace_back(SetTo(stage.name + "." + knob, readers));
  };
  raise("parallelism", source->parallelism);
  raise("cycle_length", source->cycle_length);
  patch.changes.emplace_back(SetTo(stage.name + ".deterministic", false));
  return IfItChanges(c, std::move(patch));
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!Worth(c, Category::kInputStall)) return;
  struct Waits {
    size_t count = 0;
    int64_t ns = 0;
  };
  std::map<trace::StringId, Waits> files;
  size_t all = 0;
  for (const auto& straggler : c.attribution.stragglers) {
    if (straggler.file == trace::StringId::None()) continue;
    Waits& waits = files[straggler.file];
    ++waits.count;
    waits.ns += straggler.element_ns;
    ++all;
  }
  for (const auto& [file, waits] : files) {
    const std::optional<size_t> shard = ShardOf(c, file);
    if (!shard.has_value() || waits.count < kFewestOfShard) continue;
    if (static_cast<double>(waits.count) < kShardShare * static_cast<double>(all)) continue;
    // A single file is no choice.
    if (files.size() == 1 && c.run.rows.elements.size() == all) continue;
    const double share = static_cast<double>(waits.ns) /
                         static_cast<double>(c.attribution.window.ns()) /
                         static_cast<double>(std::max<size_t>(1, c.attribution.timelines.size()));
    Draft draft = About(c, StageId::None(), share,
                        fmt::format("{} of the {} longest waits are for elements of shard {} ({})",
                                    waits.count, all, *shard, c.run.Text(file)));
    Show(draft, Evidence::Kind::kSpans,
         fmt::format("{}: {} of waiting", c.run.Text(file),
                     Duration(static_cast<double>(waits.ns))));
    RecommendUnpriced(draft,
                      "read several files at once, in any order, so that the others go on; then "
                      "check where this file is stored and what it holds, and write shards of "
                      "equal size (stallscope convert --shards)",
                      ReadingAround(c),
                      "one slow file is too little to predict from: `stallscope replay --verify` "
                      "measures the gain");
    draft.finding.recommendation->only_measured = true;
    draft.args.value = std::to_string(kReadersAroundAShard);
    draft.finding.stands_alone = true;
    drafts.push_back(std::move(draft));
  }
}

}  // namespace

extern const Rule kRule = {
    .id = "slow-shard",
    .row = 24,
    .shortens = Parts(Category::kInputStall),
    .check = Check,
    .advice = {
        .tf_data = R"py(ds = tf.data.Dataset.list_files("data-*.tfrecord", shuffle=True).interleave(
    tf.data.TFRecordDataset, cycle_length={value}, num_parallel_calls={value}, deterministic=False))py",
        .pytorch =
            R"py(class Shards(torch.utils.data.IterableDataset):  # a worker reads every n-th file
    def __iter__(self):
        worker = torch.utils.data.get_worker_info()
        for file in files[worker.id::worker.num_workers]:
            yield from read(file)
loader = DataLoader(Shards(), batch_size, num_workers={value}, in_order=False))py",
    }};

}  // namespace stallscope::findings::slow_shard
