// From a run to its findings, with the attribution that programs use.
#include <doctest/doctest.h>

#include <algorithm>

#include "analyzer/findings/findings.h"
#include "analyzer/model/loader.h"
#include "analyzer/spec/spec_json.h"
#include "tests/analyzer/attribution/run_builder.h"
#include "tests/support/paths.h"

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

// Two workers take `work_ns` an element, in batches of two; the device takes `kernel_ns` a step.
model::Run TwoWorkers(int64_t work_ns, int64_t kernel_ns) {
  stallscope::test::RunBuilder b;
  b.run.info.spec_json = kSpec;
  b.run.info.device.kind = "emulated";
  b.run.info.host.cores_online = 8;
  b.run.quality.sealed = true;
  const StageId read = b.Stage("read", "source");
  const StageId decode = b.Stage("decode", "map", 2, true, {read});
  const StageId batch = b.Stage("batch", "batch", 1, true, {decode});
  const StageId prefetch = b.Stage("prefetch", "prefetch", 1, true, {batch});
  const StageId trainer = b.Stage("trainer", "trainer");
  const QueueId decoded = b.Queue("decode", 2, decode);
  const QueueId ready = b.Queue("prefetch", 2, prefetch);
  const TrackId workers[] = {b.Thread("decode/0", decode), b.Thread("decode/1", decode)};
  const TrackId ahead = b.Thread("prefetch/0", prefetch);
  const TrackId main = b.Thread("trainer", trainer);
  const TrackId stream = b.Stream();
  const int64_t step_ns = std::max(work_ns, kernel_ns + kMs / 10);
  for (uint64_t k = 0; k < 40; ++k) {
    const int64_t start = static_cast<int64_t>(k) * step_ns;
    const int64_t received = start + (step_ns > work_ns ? 0 : work_ns - kernel_ns - kMs / 10);
    const int64_t launched = received + kMs / 20;
    for (const TrackId worker : workers) {
      b.Work(worker, decode, start, start + work_ns, {.cpu = static_cast<uint64_t>(work_ns)});
    }
    b.Wait(ahead, trace::WaitCause::kEmpty, decoded, start, start + work_ns, {.waker = workers[0]});
    if (received > start) {
      b.Wait(main, trace::WaitCause::kEmpty, ready, start, received, {.waker = ahead});
    }
    b.Kernel(stream, launched, launched + kernel_ns, {.enqueued = launched, .name = "step"});
    b.Step({.index = k,
            .requested = start,
            .received = received,
            .issued = launched,
            .done = launched + kernel_ns,
            .track = main,
            .samples = 2});
  }
  b.run.info.end_ns = 40 * step_ns;
  return b.Take();
}

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
    const Answer answer = Ask(TwoWorkers(8 * kMs, 2 * kMs), true);
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
    const Answer answer = Ask(TwoWorkers(2 * kMs, 8 * kMs), true);
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
