// Row 2: a batch holds only elements of one file, because so many are read from it in a row.
#include <algorithm>

#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::block_length {
namespace {

// Elements per batch; 0: the spec has no batch.
int64_t BatchOf(const Spec& spec) {
  const size_t at = FirstOf<BatchSpec>(spec);
  return at < spec.stages.size() ? std::get<BatchSpec>(spec.stages[at].kind).size : 0;
}

// How many elements the pipeline shuffles among; 0 without a shuffle.
int64_t ShuffledAmong(const Spec& spec) {
  const size_t at = FirstOf<ShuffleSpec>(spec);
  return at < spec.stages.size() ? std::get<ShuffleSpec>(spec.stages[at].kind).buffer_size : 0;
}

Draft OneFile(const Case& c, StageId source, int64_t block, int64_t batch) {
  Draft draft = About(c, source, 0,
                      fmt::format("{} reads {} elements in a row from each file, so a batch of {} "
                                  "has elements of one file only",
                                  NameOf(c, source), block, batch));
  draft.finding.severity = Severity::kLow;
  return draft;
}

std::string Mixing(int64_t block, int64_t files) {
  return fmt::format("read {} in a row, so that a batch mixes {} files",
                     Counted(static_cast<uint64_t>(block), "element"), files);
}

constexpr const char* kQualityOnly = "this affects what the model sees, not speed";

void OfTrace(const Case& c, std::vector<Draft>& drafts) {
  const std::vector<StageId> pipeline = TracedPipeline(c);
  const size_t at = FirstOf(c, pipeline, StageRole::kSource);
  const size_t made = FirstOf(c, pipeline, StageRole::kBatch, at);
  if (made >= pipeline.size()) return;
  const StageId source = pipeline[at];
  const int64_t batch = NumberSettingOf(c, pipeline[made], "batch_size");
  const int64_t block = NumberSettingOf(c, source, "block_length");
  const int64_t cycle = NumberSettingOf(c, source, "cycle_length");
  if (batch < 2 || block < batch || cycle < 2) return;
  const size_t shuffle = FirstOf(c, pipeline, StageRole::kShuffle, at);
  if (shuffle < made) {
    const QueueId queue = c.run.stages[pipeline[shuffle].value].queue;
    const uint64_t among = queue.known() ? c.run.queues[queue.value].info.capacity : 0;
    if (among >= static_cast<uint64_t>(kFewestShuffledBatches * block)) return;
  }
  Draft draft = OneFile(c, source, block, batch);
  Show(draft, Evidence::Kind::kSpans,
       fmt::format("{}: block_length {}, cycle_length {}", NameOf(c, source), block, cycle));
  const int64_t files = std::clamp<int64_t>(cycle, 2, batch);
  draft.args.value = std::to_string(files);
  RecommendUnpriced(draft, Mixing(batch / files, files), Patch(), kQualityOnly, Aim::kQuality);
  drafts.push_back(std::move(draft));
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!c.spec.has_value()) return OfTrace(c, drafts);
  const Spec& spec = *c.spec;
  const std::string& name = spec.stages.front().name;
  const StageId id = StageNamed(c, name);
  const size_t among = FilesOf(c, id);
  if (among < 2) return;
  const auto* source = As<SourceSpec>(spec.stages.front());
  const int64_t batch = BatchOf(spec);
  if (source == nullptr || batch < 2 || source->block_length < batch) return;
  // The buffer holds blocks of several files at once.
  if (ShuffledAmong(spec) >= kFewestShuffledBatches * source->block_length) return;
  const int64_t files = std::clamp<int64_t>(source->cycle_length.value, 2, batch);
  const int64_t block = batch / files;
  Draft draft = OneFile(c, id, source->block_length, batch);
  Show(draft, Evidence::Kind::kSpans,
       fmt::format("{}: {} files, {} interleaved", name, among,
                   std::max<int64_t>(source->cycle_length.value, 1)));
  Patch patch = Setting(name + ".block_length", block);
  if (source->cycle_length.value < files && !source->cycle_length.automatic) {
    patch.changes.emplace_back(SetTo(name + ".cycle_length", files));
  }
  draft.args.value = std::to_string(files);
  RecommendUnpriced(draft, Mixing(block, files), IfItChanges(c, std::move(patch)), kQualityOnly,
                    Aim::kQuality);
  drafts.push_back(std::move(draft));
}

}  // namespace

extern const Rule kRule = {
    .id = "block-length",
    .row = 2,
    .check = Check,
    .advice = {
        .tf_data = R"py(ds = tf.data.Dataset.list_files("data-*.tfrecord").interleave(
    tf.data.TFRecordDataset, cycle_length={value}, num_parallel_calls={value})  # no block_length)py",
    }};

}  // namespace stallscope::findings::block_length
