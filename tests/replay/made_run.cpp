#include "tests/replay/made_run.h"

#include <algorithm>
#include <string>

#include "tests/analyzer/attribution/run_builder.h"

namespace stallscope::test {
namespace {

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

}  // namespace

model::Run MakeRun(const MadeRunOptions& options) {
  RunBuilder b;
  b.run.path = "made.sst";
  b.run.info.name.clear();
  if (options.with_spec) b.run.info.spec_json = SpecText(options);
  b.run.info.device.kind = "emulated";
  b.run.info.host.cores_online = 2;
  b.run.quality.sealed = true;
  b.run.strings = {"", "step"};  // tests add theirs behind these
  const StageId read = b.Stage("read", "source");
  const StageId fetch = b.Stage("fetch", "map", 1, true, {read});
  const StageId batching = b.Stage("batch", "batch", 1, true, {fetch});
  const StageId prefetch = b.Stage("prefetch", "prefetch", 1, true, {batching});
  const StageId trainer = b.Stage("trainer", "trainer");
  const QueueId queue = b.Queue("prefetch", 2, prefetch);
  const TrackId loads = b.Thread("prefetch/0", prefetch);
  const TrackId trains = b.Thread("trainer", trainer);
  const TrackId stream = b.Stream();
  const TrackId copies = b.CopyEngine();
  const int64_t fetch_ns = options.fetch_us * kUs;
  const int64_t compute_ns = options.compute_us * kUs;
  const int64_t input_ns = kMadeBatch * (fetch_ns + kReadNs) + kBatchNs;
  const int64_t step_ns = std::max(input_ns, compute_ns + kIssueNs);
  for (int64_t k = 0; k < options.steps; ++k) {
    // The prefetch makes batch k in the step before, at the end of it.
    const int64_t start = k * step_ns;
    int64_t at = start + step_ns - input_ns;
    const auto batch = static_cast<uint64_t>(1'000'000 + k);
    for (int64_t i = 0; i < kMadeBatch; ++i) {
      const auto item = static_cast<uint64_t>(k * kMadeBatch + i);
      b.Work(loads, read, at, at + kReadNs, {.item = item, .bytes = 1024});
      b.run.rows.elements.push_back({ItemId{item}, item, 0, 1024, {}, 0});
      at += kReadNs;
      b.Work(loads, fetch, at, at + fetch_ns,
             {.item = item, .cpu = static_cast<uint64_t>(options.fetch_cpu_us * kUs)});
      at += fetch_ns;
    }
    b.Work(loads, batching, at, at + kBatchNs, {.item = batch, .bytes = 16'384});
    at += kBatchNs;
    b.run.rows.queue_events.push_back({at, ItemId{batch}, queue, loads, 1, trace::QueueOp::kPush});
    // The trainer has it at the end of its step's wait, and the device until the next one's.
    const int64_t received = k == 0 ? start : start + step_ns - compute_ns - kIssueNs - kCopyNs;
    const int64_t issued = received + kIssueNs;
    b.Work(trains, trainer, received, issued, {.item = batch});
    b.Copy(copies, received, received + kCopyNs, 16'384, trace::CopyDirection::kHostToDevice,
           trace::CopyMemory::kPinned);
    b.run.rows.copies.back().batch = ItemId{batch};
    b.Kernel(stream, issued, issued + compute_ns,
             {.enqueued = issued, .name = "step", .correlation = static_cast<uint64_t>(k)});
    b.run.rows.kernels.back().batch = ItemId{batch};
    b.Step({.index = static_cast<uint64_t>(k),
            .requested = start,
            .received = received,
            .issued = issued,
            .done = issued + compute_ns,
            .batch = batch,
            .track = trains,
            .samples = kMadeBatch});
  }
  b.run.info.end_ns = options.steps * step_ns;
  return b.Take();
}

}  // namespace stallscope::test
