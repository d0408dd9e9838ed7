// From a run to its findings, with the attribution that programs use.
#include <doctest/doctest.h>

#include <algorithm>

#include "analyzer/findings/findings.h"
#include "analyzer/model/loader.h"
#include "analyzer/spec/spec_json.h"
#include "tests/support/paths.h"

using stallscope::ItemId;
using stallscope::QueueId;
using stallscope::Spec;
using stallscope::StageId;
using stallscope::TrackId;
using stallscope::attribution::Attribute;
using stallscope::attribution::Attribution;
using stallscope::findings::Bound;
using stallscope::findings::Finding;
using stallscope::findings::Verdict;
using stallscope::findings::VerdictOn;
namespace model = stallscope::model;
namespace trace = stallscope::trace;

namespace {

constexpr int64_t kMs = 1'000'000;
constexpr const char* kSpec = R"json({"name": "two", "stages": [
  {"name": "read", "source": {"format": "synthetic"}},
  {"name": "decode", "map": {"ops": ["busy(8000)"], "parallelism": 2}},
  {"name": "batch", "batch": {"size": 2}},
  {"name": "prefetch", "prefetch": {"buffer_size": 2}}],
  "trainer": {"device": "emulated"}})json";

enum Stages : uint32_t { kRead, kDecode, kBatch, kPrefetch, kTrainer };
enum Tracks : uint32_t { kDecode0, kDecode1, kPrefetch0, kTrainer0, kStream };

// Two workers take `work_ns` an element, in batches of two; the device takes `kernel_ns` a step.
class TwoWorkers {
 public:
  TwoWorkers(int64_t work_ns, int64_t kernel_ns) {
    run.format = "sst";
    run.info.spec_json = kSpec;
    run.info.device.kind = "emulated";
    run.info.host.cores_online = 8;
    run.quality.sealed = true;
    run.strings = {"", "step"};
    Define();
    const int64_t step_ns = std::max(work_ns, kernel_ns + kMs / 10);
    for (int64_t k = 0; k < 40; ++k) Step(k, step_ns, work_ns, kernel_ns);
    for (model::Track& track : run.tracks) track.spans.PadOptional();
    run.info.end_ns = 40 * step_ns;
  }

  model::Run run;

 private:
  void Define() {
    const char* const names[] = {"read", "decode", "batch", "prefetch", "trainer"};
    const char* const kinds[] = {"source", "map", "batch", "prefetch", "trainer"};
    for (uint32_t i = 0; i < 5; ++i) {
      trace::StageInfo stage;
      stage.id = StageId{i};
      stage.name = names[i];
      stage.kind = kinds[i];
      stage.workers = i == kDecode ? 2 : 1;
      stage.ordered = true;
      if (i > 0 && i < kTrainer) stage.inputs = {StageId{i - 1}};
      if (i == kDecode) stage.queue = QueueId{0};
      if (i == kPrefetch) stage.queue = QueueId{1};
      run.stages.push_back(stage);
    }
    for (uint32_t i = 0; i < 2; ++i) {
      model::Queue queue;
      queue.info = {QueueId{i}, i == 0 ? "decode" : "prefetch", 2, false};
      queue.producer = StageId{i == 0 ? kDecode : kPrefetch};
      run.queues.push_back(queue);
    }
    const StageId stages[] = {{kDecode}, {kDecode}, {kPrefetch}, {kTrainer}, {kTrainer}};
    for (uint32_t i = 0; i < 5; ++i) {
      model::Track track;
      track.info.id = TrackId{i};
      track.info.name = "track " + std::to_string(i);
      track.info.stage = stages[i];
      if (i == kStream) track.info.kind = trace::TrackKind::kStream;
      run.tracks.push_back(track);
    }
    using trace::SpanKind;
    using trace::WaitCause;
    run.span_classes = {{SpanKind::kWork, StageId{kDecode}, WaitCause::kUnknown, {}},
                        {SpanKind::kWork, StageId{kBatch}, WaitCause::kUnknown, {}},
                        {SpanKind::kWait, StageId{kPrefetch}, WaitCause::kEmpty, QueueId{0}},
                        {SpanKind::kWait, StageId{kTrainer}, WaitCause::kEmpty, QueueId{1}}};
  }

  void Add(uint32_t track, uint16_t span_class, int64_t from, int64_t to, uint32_t waker) {
    if (to <= from) return;
    trace::SpanColumns& spans = run.tracks[track].spans;
    spans.start_ns.push_back(from);
    spans.duration.push_back(static_cast<uint32_t>(to - from));
    spans.span_class.push_back(span_class);
    spans.item.push_back(ItemId::None().value);
    spans.cpu_ns.push_back(span_class < 2 ? static_cast<uint64_t>(to - from) : 0);
    spans.waker.push_back(span_class < 2 ? 0 : waker + 1);
  }

  void Step(int64_t k, int64_t step_ns, int64_t work_ns, int64_t kernel_ns) {
    const int64_t start = k * step_ns;
    const int64_t ready = start + (step_ns > work_ns ? 0 : work_ns - kernel_ns - kMs / 10);
    Add(kDecode0, 0, start, start + work_ns, 0);
    Add(kDecode1, 0, start, start + work_ns, 0);
    Add(kPrefetch0, 2, start, start + work_ns, kDecode0);
    Add(kTrainer0, 3, start, ready, kPrefetch0);
    trace::Kernel kernel;
    kernel.enqueued_ns = kernel.start_ns = ready + kMs / 20;
    kernel.end_ns = kernel.start_ns + kernel_ns;
    kernel.track = TrackId{kStream};
    kernel.name = {1};
    run.rows.kernels.push_back(kernel);
    trace::Step step;
    step.index = static_cast<uint64_t>(k);
    step.requested_ns = start;
    step.received_ns = ready;
    step.issued_ns = ready + kMs / 20;
    step.device_done_ns = kernel.end_ns;
    step.track = TrackId{kTrainer0};
    step.samples = 2;
    run.rows.steps.push_back(step);
  }
};

struct Answer {
  Verdict verdict;
  std::vector<Finding> findings;

  const Finding* Of(std::string_view id) const {
    const auto at = std::find_if(findings.begin(), findings.end(),
                                 [&](const Finding& finding) { return finding.id == id; });
    return at == findings.end() ? nullptr : &*at;
  }
};

Answer Ask(const model::Run& run, bool with_spec) {
  const Attribution attribution = Attribute(run);
  std::optional<Spec> spec;
  if (with_spec) {
    auto read = stallscope::ReadSpec(run.info.spec_json, "spec");
    REQUIRE_MESSAGE(read.ok(), read.error().Line());
    spec = std::move(read).value();
  }
  Answer answer;
  answer.verdict = VerdictOn(run, attribution);
  answer.findings = stallscope::findings::Find({run, attribution, answer.verdict, spec});
  return answer;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("slow map: more workers recommended") {
    const Answer answer = Ask(TwoWorkers(8 * kMs, 2 * kMs).run, true);
    CHECK(answer.verdict.text == "input-bound: decode (cpu)");
    const Finding* const finding = answer.Of("map-parallelism");
    REQUIRE(finding != nullptr);
    REQUIRE(finding->recommendation.has_value());
    const auto& gain = finding->recommendation->gain;
    REQUIRE(gain.has_value());
    // 8 cores feed 8 workers: 2 ms a batch, and the device takes 2 ms.
    CHECK(gain->predicted > 2.5);
    CHECK(gain->predicted < 4.2);
    const auto changed = stallscope::Apply(stallscope::ReadSpec(kSpec, "spec").value(),
                                           finding->recommendation->patch);
    CHECK(changed.ok());
  }

  TEST_CASE("compute-bound run: no other finding") {
    const Answer answer = Ask(TwoWorkers(2 * kMs, 8 * kMs).run, true);
    CHECK(answer.verdict.bound == Bound::kCompute);
    REQUIRE(answer.findings.size() == 1);
    CHECK(answer.findings[0].id == "compute-bound");
  }

  TEST_CASE("run without a spec: advice without a patch") {
    const auto run =
        model::LoadTrace(stallscope::test::SourceDir() + "/sample_traces/format_1_0.sst");
    REQUIRE(run.ok());
    const Answer answer = Ask(run.value(), false);
    for (const Finding& finding : answer.findings) {
      CAPTURE(finding.id);
      CHECK_FALSE(finding.text.empty());
      if (finding.recommendation.has_value()) {
        CHECK(finding.recommendation->patch.changes.empty());
      }
    }
  }
}
