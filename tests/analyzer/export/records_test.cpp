#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/analyzer/export/exported.h"
#include "tests/support/job_trace.h"

using namespace stallscope;
using exporting::Format;
using exporting::What;
using stallscope::test::Exported;
using stallscope::test::LoadedRun;
using stallscope::test::TraceBuilder;

namespace {

const std::string kStepColumns =
    "step,start_ns,end_ns,compute_ns,transfer_ns,communication_ns,launch_ns,input_stall_ns,sync_ns,"
    "other_ns\r\n";

std::vector<nlohmann::json> Lines(const std::string& text) {
  std::vector<nlohmann::json> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("spans as csv") {
    TraceBuilder trace;
    const StageId decode = trace.Stage("decode, \"fast\"");
    const QueueId queue = trace.Queue("decode-batch", 4, decode);
    const TrackId track = trace.Thread("worker\n0", decode);
    const TrackId stream = trace.Stream("stream 7");
    trace.Work(track, decode, 100, 250, ItemId{7});
    trace.rows().AddCost(4096, 140);
    trace.Wait(track, trace::WaitCause::kFull, queue, 250, 300);
    trace.rows().AddWaker(stream);
    trace.rows().Add(trace::Copy{
        1, 300, 400, ItemId{9}, 1000, 1, stream, trace::CopyDirection::kDeviceToHost, {}});
    trace.rows().Add(trace::Kernel{1, 400, 500, {}, 2, 0, stream, trace.Text("sgemm")});
    CHECK(Exported(LoadedRun(trace), Format::kCsv) ==
          "track,track_name,kind,name,start_ns,end_ns,cause,queue,item,bytes,cpu_ns,waker,"
          "stage,process,pid\r\n"
          "0,\"worker\n0\",work,\"decode, \"\"fast\"\"\",100,250,,,7,4096,140,,\"decode, "
          "\"\"fast\"\"\",,\r\n"
          "0,\"worker\n0\",wait,\"decode, "
          "\"\"fast\"\"\",250,300,full,decode-batch,,0,0,1,\"decode, \"\"fast\"\"\",,\r\n"
          "1,stream 7,copy,d2h,300,400,,,9,1000,,,,,\r\n"
          "1,stream 7,kernel,sgemm,400,500,,,,,,,,,\r\n");
  }

  TEST_CASE("spans as JSON lines have null for unknown values") {
    TraceBuilder trace;
    const StageId stage = trace.Stage("s\xff");
    trace.Work(trace.Thread("t"), stage, 100, 250);
    const auto lines = Lines(Exported(LoadedRun(trace), Format::kJsonl, What::kSpans));
    REQUIRE(lines.size() == 1);
    CHECK(lines[0]["name"] == "s\ufffd");
    CHECK(lines[0]["start_ns"] == 100);
    CHECK(lines[0]["end_ns"] == 250);
    CHECK(lines[0]["item"].is_null());
    CHECK(lines[0]["bytes"].is_null());
    CHECK(lines[0]["process"].is_null());
    CHECK(lines[0].size() == 15);
  }

  TEST_CASE("a job's spans have their stage and process") {
    TraceBuilder trace;
    stallscope::test::BuildJob(trace, {.steps = 2});
    const auto lines = Lines(Exported(LoadedRun(trace), Format::kJsonl, What::kSpans));
    const auto op = std::find_if(lines.begin(), lines.end(),
                                 [](const auto& line) { return line["name"] == "Store.get"; });
    REQUIRE(op != lines.end());
    CHECK((*op)["stage"] == "fetch");
    CHECK((*op)["process"] == "worker 0");
    CHECK((*op)["pid"] == 711);
  }

  TEST_CASE("steps are one row each, from request to request") {
    TraceBuilder trace;
    trace.Step(0, 1'000, 1'900);
    trace.Step(1, 2'000, 2'900);
    const model::Run run = LoadedRun(trace);
    CHECK(Exported(run, Format::kCsv, What::kSteps) ==
          kStepColumns + "0,1000,2000,600,,0,,300,0,100\r\n1,2000,2900,600,,0,,300,0,0\r\n");
    const auto lines = Lines(Exported(run, Format::kJsonl, What::kSteps));
    REQUIRE(lines.size() == 2);
    CHECK(lines[1]["step"] == 1);
    CHECK(lines[1]["start_ns"] == 2000);
    CHECK(lines[1]["end_ns"] == 2900);
    // There is no device track that could tell.
    CHECK(lines[1]["transfer_ns"].is_null());
    int64_t sum = 0;
    for (const char* known :
         {"compute_ns", "communication_ns", "input_stall_ns", "sync_ns", "other_ns"}) {
      sum += lines[1][known].get<int64_t>();
    }
    CHECK(sum == 900);
  }

  TEST_CASE("counters are samples and the depths of queues") {
    TraceBuilder trace;
    const CounterId rss = trace.Counter("rss", "bytes");
    const QueueId queue = trace.Queue("q", 4);
    trace.rows().Add(trace::Sample{10, 1.5, rss});
    trace.rows().Add(trace::Sample{20, std::numeric_limits<double>::quiet_NaN(), rss});
    trace.rows().Add(trace::QueueEvent{30, ItemId{1}, queue, {}, 3, trace::QueueOp::kPush});
    const model::Run run = LoadedRun(trace);
    CHECK(Exported(run, Format::kCsv, What::kCounters) ==
          "time_ns,counter,unit,value\r\n10,rss,bytes,1.5\r\n20,rss,bytes,\r\n"
          "30,queue q,elements,3\r\n");
    const auto lines = Lines(Exported(run, Format::kJsonl, What::kCounters));
    CHECK(lines[1]["value"].is_null());
    CHECK(lines[2]["value"] == 3);
  }

  TEST_CASE("an empty run is a header line, or nothing") {
    TraceBuilder trace;
    const model::Run run = LoadedRun(trace);
    CHECK(Exported(run, Format::kCsv, What::kSteps) == kStepColumns);
    CHECK(Exported(run, Format::kJsonl, What::kSteps).empty());
  }
}
