#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "analyzer/report/describe.h"
#include "analyzer/report/job_section.h"
#include "analyzer/report/json.h"
#include "analyzer/report/markdown.h"
#include "analyzer/report/report.h"
#include "analyzer/report/text.h"
#include "tests/support/loaded_run.h"

using namespace stallscope;
using attribution::Category;
using test::TraceBuilder;

namespace {

model::Run SmallRun() {
  TraceBuilder trace;
  const StageId read = trace.Stage("read", "source");
  const StageId decode = trace.Stage("decode", "map", 2, {read});
  const QueueId queue = trace.Queue("decode-batch", 4, decode);
  const TrackId worker = trace.Thread("decode 0", decode);
  trace.Work(worker, decode, 1'000, 6'000, ItemId{1});
  trace.Wait(worker, trace::WaitCause::kFull, queue, 6'000, 9'000);
  trace.Step(0, 1'000, 5'000);
  trace.Step(1, 5'000, 9'000);
  trace.run.device = {"emulated", "nothing", 0, ""};
  trace.run.warnings = {"the clock stepped"};
  trace.Seal(9'000);
  return LoadedRun(trace);
}

attribution::Attribution SmallAttribution() {
  attribution::Attribution a;
  a.window.start_ns = 1'000;
  a.window.end_ns = 9'000;
  a.window.steps = 2;
  a.timelines = {
      {0, 0, {{1'000, 5'000, Category::kCompute}, {5'000, 9'000, Category::kInputStall}}}};
  a.steps.resize(2);
  a.steps[0].end_ns = 4'000'000;
  a.steps[1].end_ns = 6'000'000;
  a.breakdown[attribution::At(Category::kCompute)] =
      attribution::CategoryTotal{4'000, 0.5, 0.4, 0.6};
  a.breakdown[attribution::At(Category::kInputStall)] =
      attribution::CategoryTotal{4'000, 0.5, 0.4, 0.6};
  a.blame = {{StageId{1}, attribution::Cause::kCpu, 4'000, 0.5}};
  a.stages.resize(2);
  a.stages[0].stage = StageId{0};
  a.stages[1].stage = StageId{1};
  a.stages[1].workers = 2;
  a.stages[1].elements = 1;
  a.stages[1].service_ns = {5'000'000, 5'000'000, 5'000'000, 5'000'000, 0};
  a.stages[1].cpu_ns = 2'500'000'000;
  a.stages[1].utilization = 0.6;
  a.stages[1].queue = attribution::QueueUse{QueueId{0}, 4, 2.0, {}, {}};
  a.step_ns = attribution::Quantiles{5'000'000, 5'000'000, 6'000'000, 6'000'000, 0.2};
  a.stragglers = {{1,
                   41'000'000,
                   38'260'000,
                   0,
                   5'000,
                   StageId{1},
                   attribution::Cause::kCpu,
                   ItemId{13911},
                   {},
                   0}};
  a.memory.stages = {{StageId{1}, 100}};
  a.limits = {"communication: one replica"};
  return a;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a report says in words what a run and its attribution hold") {
    const model::Run run = SmallRun();
    findings::Finding finding;
    finding.id = "map-parallelism";
    finding.stage = StageId{1};
    findings::Evidence evidence;
    evidence.kind = findings::Evidence::Kind::kQueue;
    evidence.queue = QueueId{0};
    finding.evidence = {evidence};
    const report::Report report = report::MakeReport(
        run, SmallAttribution(),
        {findings::Bound::kInput, StageId{1}, attribution::Cause::kCpu, 0.5, {}, "input-bound", ""},
        {finding});
    CHECK(report.name == "test");
    CHECK(report.trust.complete);
    CHECK(report.trust.line == "complete: 2 spans, none dropped, no damage");
    REQUIRE(report.trust.warnings.size() == 1);
    CHECK(report.trust.warnings[0].ends_with("run.sst: the clock stepped"));
    CHECK(report.steps == 2);
    CHECK(report.step_ms->p50 == 5);
    CHECK_FALSE(report.step_ms->p95.has_value());  // of two steps
    CHECK(report.blame.at(0).stage == "decode");
    CHECK(report.verdict.stage == "decode");
    CHECK(report.findings.at(0).stage == "decode");
    CHECK(report.findings.at(0).evidence.at(0).name == "decode-batch");
    CHECK(report.memory.stages.at(0).first == "decode");
    CHECK_FALSE(report.memory.limit_bytes.has_value());
    CHECK(report.stragglers.at(0) ==
          "step 1 waited 41.0 ms, 38.3 ms of it for element 13911 in decode (cpu)");

    const report::StageRow& decode = report.stages.at(1);
    CHECK(decode.inputs == std::vector<std::string>{"read"});
    CHECK(decode.parallelism == 2);
    CHECK(decode.service_ms->mean == 5);
    CHECK(decode.cpu_s == 2.5);
    CHECK(decode.queue->mean == 2.0);
    CHECK_FALSE(decode.queue->empty.has_value());
    CHECK_FALSE(report.stages.at(0).service_ms.has_value());  // it did nothing that was recorded

    const report::Pictures pictures = report::PicturesOf(run, SmallAttribution());
    REQUIRE(pictures.lanes.size() == 3);
    CHECK(pictures.lanes[0].name == "device 0");
    CHECK(pictures.lanes[0].layers[0] == "compute");
    CHECK(pictures.lanes[0].busy[0].front() == 1);
    CHECK(pictures.lanes[0].busy[0].back() == 0);
    CHECK(pictures.lanes[2].name == "decode");
    CHECK(pictures.step_ms == std::vector<double>{4, 6});

    std::string limits;
    for (const std::string& limit : report.trust.limits) limits += limit + "\n";
    CHECK(limits.find("communication: one replica\n") == 0);
    CHECK(limits.find("stages[].utilization: not in this trace for read\n") != std::string::npos);
    for (const char* const few :
         {"intervals: fewer than 3 steps",
          "step_time_ms.p95, step_time_ms.p99: fewer than 10 steps were counted\n",
          "stages[].service_ms.p99: fewer than 10 elements were counted for decode\n"}) {
      CHECK(limits.find(few) != std::string::npos);
    }
    CHECK(limits.find(".low") == std::string::npos);
    CHECK(report::WriteText(report::DocumentOf(report)).find("communication: one replica") !=
          std::string::npos);
    CHECK_FALSE(report::WriteJson(report).empty());
  }

  TEST_CASE("steps and loaders of several ranks are told by rank") {
    model::Run run;
    run.rows.steps.resize(3);
    CHECK(report::StepsPhrase(run) == "3 steps");
    CHECK(report::StepsFact(run) == "3");
    run.step_ranks = {0, 1, 0};
    CHECK(report::StepsPhrase(run) == "1 to 2 steps on each of 2 ranks");
    CHECK(report::StepsFact(run) == report::StepsPhrase(run));
    run.step_ranks = {0, 1, 2};
    CHECK(report::StepsPhrase(run) == "1 step on each of 3 ranks");
    run.loaders.resize(2);
    run.loaders[1].steps = 60;
    CHECK(report::FedPhrase(run.loaders[1], run.loaders) == "fed 60 steps");
    run.loaders[1].rank = 1;
    CHECK(report::FedPhrase(run.loaders[1], run.loaders) == "fed 60 steps of rank 1");
    CHECK(report::FedPhrase(run.loaders[0], run.loaders) == "fed 0 steps of rank 0");
  }

  TEST_CASE("workers and room that an imported trace does not show are null and named") {
    model::Run run = SmallRun();
    run.info.imported_from = "kineto";
    run.stages[0].workers = 0;  // seen from outside: it did nothing that was recorded
    run.stages[1].workers = 0;  // worked where it was called
    attribution::Attribution a = SmallAttribution();
    a.stages[1].queue->capacity = 0;
    const report::Report report = report::MakeReport(run, a, {}, {});
    CHECK_FALSE(report.stages.at(0).parallelism.has_value());
    CHECK(report.stages.at(1).parallelism == 2);
    CHECK_FALSE(report.stages.at(1).queue->capacity.has_value());
    const std::string json = report::WriteJson(report);
    CHECK(json.find("\"parallelism\": null") != std::string::npos);
    CHECK(json.find("\"capacity\": null") != std::string::npos);
    std::string limits;
    for (const std::string& limit : report.trust.limits) limits += limit + "\n";
    CHECK(limits.find("stages[].parallelism") != std::string::npos);
    CHECK(limits.find("stages[].queue.capacity") != std::string::npos);
    CHECK(report::WriteText(report::DocumentOf(report)).find(" of 0") == std::string::npos);

    // A recorded run says what its stages have.
    run.info.imported_from.clear();
    CHECK_FALSE(report::MakeReport(run, a, {}, {}).stages.at(0).parallelism.has_value());
    a.stages[0].own_threads = true;
    CHECK(report::MakeReport(run, a, {}, {}).stages.at(0).parallelism == a.stages[0].workers);
  }

  TEST_CASE("an excluded cold start is reported, with its cost") {
    const model::Run run = SmallRun();
    attribution::Attribution a = SmallAttribution();
    CHECK_FALSE(report::MakeReport(run, a, {}, {}).cold.has_value());
    a.window.cold = attribution::ColdStart{
        120, 0, 12'000'000'000, 3'100'000'000, StageId{0}, 1.8, attribution::ColdCause::kPageCache};
    const auto limit_of = [&] {
      for (const std::string& limit : report::MakeReport(run, a, {}, {}).trust.limits) {
        if (limit.starts_with("window.cold_start: ")) return limit;
      }
      return std::string();
    };
    CHECK(limit_of() ==
          "window.cold_start: the first 120 steps (12.0 s) count in no figure: while the page "
          "cache was cold, an item took 1.80x as long in read; that cost 3.10 s; analyze "
          "--first-epoch reports on them");
    const report::Report report = report::MakeReport(run, a, {}, {});
    CHECK(WriteMarkdown(DocumentOf(report)).find("excluding 120 of a cold start (page cache)") !=
          std::string::npos);
    const auto window = report::ReportTree(report)["window"];
    CHECK(window["part"] == "steady");
    CHECK(window["cold_start"]["steps_excluded"] == 120);
    CHECK(window["cold_start"]["cause"] == "page cache");
    CHECK(window["cold_start"]["stage"] == "read");
    a.window.cold->cost_ns = -5;
    CHECK(limit_of().find("other work hid it") != std::string::npos);
    a.window.cold.reset();
    a.window.first_epoch = true;
    CHECK(report::ReportTree(report::MakeReport(run, a, {}, {}))["window"]["part"] ==
          "first epoch");
  }

  TEST_CASE("without steps there are no step times") {
    attribution::Attribution a = SmallAttribution();
    a.window.steps = 0;
    a.step_ns.reset();
    const report::Report report = report::MakeReport(SmallRun(), a, {}, {});
    CHECK(report::PicturesOf(SmallRun(), a).step_ms.empty());
    CHECK_FALSE(report.step_ms.has_value());
    CHECK(report::WriteText(report::DocumentOf(report)).find("no steps, 8.00 us") !=
          std::string::npos);
  }
}
