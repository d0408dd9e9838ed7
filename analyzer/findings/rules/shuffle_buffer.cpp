// Row 11: the shuffle buffer is too small to mix anything.
#include <algorithm>
#include <map>

#include "analyzer/findings/rules/rule.h"
#include "analyzer/model/ranks.h"

namespace stallscope::findings::shuffle_buffer {
namespace {

// For an imported run: its shuffle has the size of its buffer, its steps have the size of a batch.
void OfTrace(const Case& c, std::vector<Draft>& drafts) {
  int64_t size = 0;
  for (const auto& step : c.attribution.steps) size = std::max<int64_t>(size, step.samples);
  const int64_t least = kFewestShuffledBatches * size;
  for (const StageId id : InOrder(c)) {
    const StageRole role = RoleOf(c, id);
    if (role == StageRole::kBatch) return;  // what is shuffled behind it are whole batches
    const QueueId queue = c.run.stages[id.value].queue;
    if (role != StageRole::kShuffle || !queue.known()) continue;
    const auto buffer = static_cast<int64_t>(c.run.queues[queue.value].info.capacity);
    if (buffer <= 1 || buffer >= least) continue;
    Draft draft = About(c, id, 0,
                        fmt::format("{} draws from only {} elements for batches of {}: unless "
                                    "these are all, neighbors in the files stay neighbors",
                                    NameOf(c, id), buffer, size));
    draft.finding.severity = Severity::kLow;
    Show(draft, Evidence::Kind::kQueue, fmt::format("{}: {} elements", NameOf(c, id), buffer));
    draft.args.value = std::to_string(kGoodShuffledBatches * size);
    RecommendUnpriced(draft, fmt::format("shuffle among {} elements", draft.args.value), Patch(),
                      "this affects what the model sees, not speed", Aim::kQuality);
    drafts.push_back(std::move(draft));
    return;
  }
}

// Of those in front of the batches, the one with the largest buffer; null if there is none.
const StageSpec* LargestShuffle(const Spec& spec, size_t batch) {
  const StageSpec* largest = nullptr;
  int64_t most = 0;
  for (size_t i = 0; i < batch; ++i) {
    const auto* shuffle = As<ShuffleSpec>(spec.stages[i]);
    if (shuffle == nullptr || shuffle->buffer_size <= most) continue;
    most = shuffle->buffer_size;
    largest = &spec.stages[i];
  }
  return largest;
}

// What of the first epoch came to the shuffle, at least: a buffer that is not larger than the data
// never holds it. Of several ranks, the most that one has read; of zipped inputs, each one's part.
int64_t ReadOfFirstEpoch(const Case& c, const StageSpec& shuffle) {
  std::map<uint32_t, int64_t> by_rank;
  for (const trace::Element& element : c.run.rows.elements) {
    if (element.epoch == 0) ++by_rank[model::RankOf(element.item)];
  }
  int64_t most = 0;
  for (const auto& [rank, count] : by_rank) most = std::max(most, count);
  for (const StageSpec& stage : c.spec->stages) {
    if (&stage == &shuffle) break;
    const auto* const shard = As<ShardSpec>(stage);
    if (shard != nullptr) most /= std::max<int64_t>(1, shard->count);
  }
  return most / static_cast<int64_t>(1 + ZippedInputs(*c.spec).size());
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!c.spec.has_value()) return OfTrace(c, drafts);
  const size_t batch = FirstOf<BatchSpec>(*c.spec);
  if (batch >= c.spec->stages.size()) return;
  const StageSpec* const shuffle = LargestShuffle(*c.spec, batch);
  if (shuffle == nullptr) return;
  const int64_t buffer = As<ShuffleSpec>(*shuffle)->buffer_size;
  const int64_t size = std::get<BatchSpec>(c.spec->stages[batch].kind).size;
  const int64_t least = kFewestShuffledBatches * size;
  // One element shuffles nothing, which may well be intended.
  if (buffer <= 1 || buffer >= least) return;
  const int64_t read = ReadOfFirstEpoch(c, *shuffle);
  if (read > 0 && buffer >= read) return;
  const std::string& name = shuffle->name;
  Draft draft = About(
      c, StageNamed(c, name), 0,
      fmt::format(
          "{} draws from only {} elements for batches of {}: neighbors in the files stay neighbors",
          name, buffer, size));
  draft.finding.severity = Severity::kLow;
  Show(draft, Evidence::Kind::kQueue, fmt::format("{}: {} elements", name, buffer));
  const auto epoch = static_cast<int64_t>(ElementsOfEpoch(c));
  const int64_t wanted = std::min(kGoodShuffledBatches * size, epoch > 0 ? epoch : INT64_MAX);
  draft.args.value = std::to_string(wanted);
  RecommendUnpriced(draft, fmt::format("let {} draw from {} elements", name, wanted),
                    Setting(name + ".buffer_size", wanted),
                    "this affects what the model sees, not speed", Aim::kQuality);
  CostsMemory(draft, BytesOfElement(c) * static_cast<double>(wanted - buffer));
  drafts.push_back(std::move(draft));
}

}  // namespace

extern const Rule kRule = {
    .id = "shuffle-buffer",
    .row = 11,
    .shortens = Parts(Category::kInputStall),
    .check = Check,
    .advice = {
        .tf_data = R"py(ds = ds.shuffle({value}))py",
        .pytorch =
            R"py(loader = DataLoader(dataset, batch_size, shuffle=True)  # over all of a map-style dataset)py",
        .dali = R"py(data = fn.readers.tfrecord(path=files, index_path=indexes, features=features,
                           random_shuffle=True, initial_fill={value}))py",
        .grain = R"py(ds = ds.shuffle(seed=seed)  # of a MapDataset: over all of it)py",
    }};

}  // namespace stallscope::findings::shuffle_buffer
