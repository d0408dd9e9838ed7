#include "tests/replay/made_run.h"

#include <algorithm>
#include <string>
#include <utility>

namespace stallscope::test {
namespace {

enum Stages : uint32_t { kRead, kFetch, kBatch, kPrefetch, kTrainer };
enum Tracks : uint32_t { kPrefetch0, kTrainer0, kStream, kCopies };
enum Classes : uint16_t { kReads, kFetches, kBatches, kIssues };

constexpr int64_t kUs = 1'000;
constexpr int64_t kReadNs = 2 * kUs;
constexpr int64_t kBatchNs = 10 * kUs;
constexpr int64_t kIssueNs = 40 * kUs;
constexpr int64_t kCopyNs = 10 * kUs;

std::string SpecText(const MadeRunOptions& options) {
  return R"json({"name": "made", "stages": [
    {"name": "read", "source": {"format": "synthetic", "elements": 1000000}},
    {"name": "fetch", "map": {"ops": ["sleep(1000)"]}},
    {"name": "batch", "batch": {"size": 16, "drop_remainder": true}},
    {"name": "prefetch", "prefetch": {"buffer_size": 2}}],
    "transfer": {"pinned": true, "overlap": true, "dtype": "uint8"},
    "trainer": {"device": "emulated", "graph": "captured", "steps": )json" +
         std::to_string(options.steps) + R"json(, "emulated": {"compute_us_per_batch": )json" +
         std::to_string(options.compute_us) + "}}}";
}

class Maker {
 public:
  explicit Maker(const MadeRunOptions& options) : options_(options) {
    run.path = "made.sst";
    run.format = "sst";
    if (options.with_spec) run.info.spec_json = SpecText(options);
    run.info.device.kind = "emulated";
    run.info.host.cores_online = 2;
    run.quality.sealed = true;
    run.strings = {"", "step"};
    Define();
  }

  void Make() {
    const int64_t input_ns = kMadeBatch * (options_.fetch_us * kUs + kReadNs) + kBatchNs;
    const int64_t step_ns = std::max(input_ns, options_.compute_us * kUs + kIssueNs);
    for (int64_t k = 0; k < options_.steps; ++k) Step(k, step_ns, input_ns);
    for (model::Track& track : run.tracks) track.spans.PadOptional();
    run.info.end_ns = options_.steps * step_ns;
  }

  model::Run run;

 private:
  void Define() {
    const char* const names[] = {"read", "fetch", "batch", "prefetch", "trainer"};
    const char* const kinds[] = {"source", "map", "batch", "prefetch", "trainer"};
    for (uint32_t i = 0; i < 5; ++i) {
      trace::StageInfo stage;
      stage.id = StageId{i};
      stage.name = names[i];
      stage.kind = kinds[i];
      if (i > 0 && i < kTrainer) stage.inputs = {StageId{i - 1}};
      stage.workers = 1;
      stage.ordered = true;
      run.stages.push_back(stage);
    }
    model::Queue queue;
    queue.info = {QueueId{0}, "prefetch", 2, false};
    queue.producer = StageId{kPrefetch};
    run.queues.push_back(queue);
    run.stages[kPrefetch].queue = QueueId{0};
    const std::pair<const char*, uint32_t> tracks[] = {
        {"prefetch/0", kPrefetch}, {"trainer", kTrainer}, {"stream", ~0u}, {"copies", ~0u}};
    for (uint32_t i = 0; i < 4; ++i) {
      model::Track track;
      track.info.id = TrackId{i};
      track.info.name = tracks[i].first;
      track.info.stage = StageId{tracks[i].second};
      if (i == kStream) track.info.kind = trace::TrackKind::kStream;
      if (i == kCopies) track.info.kind = trace::TrackKind::kCopyEngine;
      run.tracks.push_back(track);
    }
    for (const uint32_t stage : {kRead, kFetch, kBatch, kTrainer}) {
      run.span_classes.push_back(
          {trace::SpanKind::kWork, StageId{stage}, trace::WaitCause::kUnknown, {}});
    }
  }

  void Span(uint32_t track, Classes what, int64_t from, int64_t to, uint64_t item,
            int64_t cpu_ns = 0, uint64_t bytes = 0) {
    trace::SpanColumns& spans = run.tracks[track].spans;
    const size_t at = spans.size();
    spans.start_ns.push_back(from);
    spans.duration.push_back(static_cast<uint32_t>(to - from));
    spans.span_class.push_back(what);
    spans.item.push_back(item);
    if (cpu_ns > 0) {
      spans.cpu_ns.resize(at);
      spans.cpu_ns.push_back(static_cast<uint64_t>(cpu_ns));
    }
    if (bytes > 0) {
      spans.bytes.resize(at);
      spans.bytes.push_back(bytes);
    }
  }

  // The prefetch makes batch k in the step before, at the end of it.
  void Step(int64_t k, int64_t step_ns, int64_t input_ns) {
    const int64_t start = k * step_ns;
    int64_t at = start + step_ns - input_ns;
    const auto batch = static_cast<uint64_t>(1'000'000 + k);
    for (int64_t i = 0; i < kMadeBatch; ++i) {
      const auto item = static_cast<uint64_t>(k * kMadeBatch + i);
      Span(kPrefetch0, kReads, at, at + kReadNs, item, 0, 1024);
      trace::Element element;
      element.item = ItemId{item};
      element.record = item;
      element.bytes = 1024;
      run.rows.elements.push_back(element);
      at += kReadNs;
      Span(kPrefetch0, kFetches, at, at + options_.fetch_us * kUs, item,
           options_.fetch_cpu_us * kUs);
      at += options_.fetch_us * kUs;
    }
    Span(kPrefetch0, kBatches, at, at + kBatchNs, batch, 0, 16'384);
    at += kBatchNs;
    run.rows.queue_events.push_back(
        {at, ItemId{batch}, QueueId{0}, TrackId{kPrefetch0}, 1, trace::QueueOp::kPush});
    // The trainer has it at the end of its step's wait, and the device until the next one's.
    const int64_t received =
        k == 0 ? start : start + step_ns - options_.compute_us * kUs - kIssueNs - kCopyNs;
    Span(kTrainer0, kIssues, received, received + kIssueNs, batch);
    trace::Copy copy;
    copy.enqueued_ns = received;
    copy.start_ns = received;
    copy.end_ns = received + kCopyNs;
    copy.batch = ItemId{batch};
    copy.bytes = 16'384;
    copy.track = TrackId{kCopies};
    copy.memory = trace::CopyMemory::kPinned;
    run.rows.copies.push_back(copy);
    trace::Kernel kernel;
    kernel.enqueued_ns = received + kIssueNs;
    kernel.start_ns = kernel.enqueued_ns;
    kernel.end_ns = kernel.start_ns + options_.compute_us * kUs;
    kernel.batch = ItemId{batch};
    kernel.correlation = static_cast<uint64_t>(k);
    kernel.track = TrackId{kStream};
    kernel.name = trace::StringId{1};
    run.rows.kernels.push_back(kernel);
    trace::Step step;
    step.index = static_cast<uint64_t>(k);
    step.requested_ns = start;
    step.received_ns = received;
    step.issued_ns = received + kIssueNs;
    step.device_done_ns = kernel.end_ns;
    step.batch = ItemId{batch};
    step.track = TrackId{kTrainer0};
    step.samples = kMadeBatch;
    run.rows.steps.push_back(step);
  }

  const MadeRunOptions options_;
};

}  // namespace

model::Run MakeRun(const MadeRunOptions& options) {
  Maker maker(options);
  maker.Make();
  return std::move(maker.run);
}

}  // namespace stallscope::test
