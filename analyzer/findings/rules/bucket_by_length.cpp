// Row 13: batches are padded to their longest sample, and most of some batches is padding.
#include <algorithm>

#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::bucket_by_length {
namespace {

// The mean share of a batch's values that only pad it, as the pipeline counted it in the window; 0
// if it did not.
double Padding(const Case& c) {
  double sum = 0;
  size_t batches = 0;
  for (const auto& counter : c.run.counters) {
    if (counter.name != "padding") continue;
    for (const trace::Sample& sample : c.run.rows.samples) {
      if (sample.counter != counter.id || sample.time_ns < c.attribution.window.start_ns ||
          sample.time_ns > c.attribution.window.end_ns) {
        continue;
      }
      sum += sample.value;
      ++batches;
    }
  }
  return batches == 0 ? 0 : sum / static_cast<double>(batches);
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!c.spec.has_value()) return;
  const Spec& spec = *c.spec;
  const size_t at = FirstOf<BatchSpec>(spec);
  if (at >= spec.stages.size() || !As<BatchSpec>(spec.stages[at])->pad) return;
  if (FirstOf<BucketByLengthSpec>(spec) < spec.stages.size()) return;
  const double padding = Padding(c);
  if (padding < kPaddedShare) return;
  const std::string& name = spec.stages[at].name;
  // An emulated device takes as long for a short batch as for a long one.
  const double spent =
      Share(c, Category::kTransfer) + (ComputesReally(c) ? Share(c, Category::kCompute) : 0);
  Draft draft = About(c, StageNamed(c, name), padding * spent,
                      fmt::format("{} of what {} hands on is padding: samples of any length share "
                                  "a batch",
                                  Percent(padding), name));
  ShowCounter(draft, c, "padding", fmt::format("{} of a batch on average", Percent(padding)));
  const int64_t width = BucketByLengthSpec().width;
  Patch patch;
  patch.changes.emplace_back(
      InsertChange{{FreshName(spec, "bucket"), BucketByLengthSpec{width}}, Place::Before(name)});
  draft.args.value = std::to_string(width);
  RecommendUnpriced(
      draft, fmt::format("put samples into one batch whose lengths differ by less than {}", width),
      IfItChanges(c, std::move(patch)),
      "one run does not show how a step's time depends on padding: replay it with the change");
  drafts.push_back(std::move(draft));
}

}  // namespace

extern const Rule kRule = {
    .id = "bucket-by-length",
    .row = 13,
    .shortens = Parts(Category::kCompute, Category::kTransfer),
    .check = Check,
    .advice = {
        .tf_data = R"py(ds = ds.bucket_by_sequence_length(
    lambda tokens, label: tf.shape(tokens)[0],
    bucket_boundaries=[{value} * i for i in range(1, 65)], bucket_batch_sizes=[batch_size] * 65))py",
        .pytorch =
            R"py(lengths = [len(tokens) for tokens, label in dataset]  # once; then sample by length
order = sorted(range(len(lengths)), key=lambda i: (lengths[i] // {value}, random.random()))
batches = [order[i:i + batch_size] for i in range(0, len(order), batch_size)]
loader = DataLoader(dataset, batch_sampler=random.sample(batches, len(batches)), collate_fn=pad))py",
    }};

}  // namespace stallscope::findings::bucket_by_length
