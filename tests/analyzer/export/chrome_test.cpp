#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/analyzer/export/exported.h"
#include "tests/support/job_trace.h"

using namespace stallscope;
using exporting::Format;
using exporting::What;
using nlohmann::json;
using stallscope::test::Exported;
using stallscope::test::LoadedRun;
using stallscope::test::TraceBuilder;

namespace {

json Chrome(TraceBuilder& trace, What what = What::kDefault) {
  return json::parse(Exported(LoadedRun(trace), Format::kChrome, what));
}

std::vector<json> Events(const json& file, const std::string& phase) {
  std::vector<json> found;
  for (const json& event : file["traceEvents"]) {
    if (event["ph"] == phase) found.push_back(event);
  }
  return found;
}

int64_t Ns(const json& micros) { return std::llround(micros.get<double>() * 1000); }

std::map<int, std::string> ThreadNames(const json& file) {
  std::map<int, std::string> names;
  for (const json& event : Events(file, "M")) {
    if (event["name"] == "thread_name") names[event["tid"]] = event["args"]["name"];
  }
  return names;
}

// How many pairs of one thread's events cross.
int Crossings(const json& file) {
  std::map<std::pair<int, int>, std::vector<int64_t>> open;  // ends, by pid and tid
  int crossings = 0;
  for (const json& event : Events(file, "X")) {
    std::vector<int64_t>& ends = open[{event["pid"], event["tid"]}];
    const int64_t start = Ns(event["ts"]);
    const int64_t end = start + Ns(event["dur"]);
    while (!ends.empty() && ends.back() <= start) ends.pop_back();
    if (!ends.empty() && end > ends.back()) ++crossings;
    ends.push_back(end);
  }
  return crossings;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("spans and waits are complete events with names, times and arguments") {
    TraceBuilder trace;
    const StageId decode = trace.Stage("decode");
    const QueueId queue = trace.Queue("decode→batch", 4, decode);
    const TrackId worker = trace.Thread("decode 0", decode);
    const TrackId other = trace.Thread("batch 0");
    trace.Work(worker, decode, 1'000'001, 1'250'003, ItemId{7});
    trace.rows().AddCost(4096, 140);
    trace.Wait(other, trace::WaitCause::kEmpty, queue, 1'000'000, 1'260'000);
    trace.rows().AddWaker(worker);
    const json file = Chrome(trace);
    CHECK(file["displayTimeUnit"] == "ns");
    const auto spans = Events(file, "X");
    REQUIRE(spans.size() == 2);
    CHECK(spans[0]["name"] == "decode");
    CHECK(spans[0]["cat"] == "work");
    CHECK(Ns(spans[0]["ts"]) == 1'000'001);
    CHECK(Ns(spans[0]["dur"]) == 250'002);
    CHECK(spans[0]["args"] == json{{"item", 7}, {"bytes", 4096}, {"cpu_ns", 140}});
    CHECK(spans[1]["name"] == "wait: empty decode→batch");
    CHECK(spans[1]["cat"] == "wait");
    CHECK(spans[1]["args"] == json{{"waker", "decode 0"}});
    auto names = ThreadNames(file);
    CHECK(names[spans[0]["tid"]] == "decode 0");
    CHECK(names[spans[1]["tid"]] == "batch 0");
  }

  TEST_CASE("a job's processes are processes, with their threads and counters; ops have places") {
    TraceBuilder trace;
    stallscope::test::BuildJob(trace, {.steps = 2});
    const json file = Chrome(trace);
    std::map<std::string, int> pids;
    for (const json& event : Events(file, "M")) {
      if (event["name"] == "process_name") pids[event["args"]["name"]] = event["pid"];
    }
    CHECK(pids.size() == 4);  // the host has the steps
    REQUIRE(pids.contains("worker 1 (pid 712)"));
    REQUIRE(pids.contains("train.py (pid 700)"));
    const auto find = [&](const char* phase, const char* name) {
      for (const json& event : Events(file, phase)) {
        if (event["name"] == name) return event;
      }
      return json();
    };
    const json op = find("X", "Store.get");
    CHECK(op["args"]["at"] == "/home/u/train.py:17");
    CHECK(op["pid"] == pids["worker 0 (pid 711)"]);
    CHECK(find("C", "process712.rss")["pid"] == pids["worker 1 (pid 712)"]);
    CHECK(find("X", "trainer")["pid"] == pids["train.py (pid 700)"]);
  }

  TEST_CASE("times are exact to the nanosecond after days of uptime") {
    TraceBuilder trace;
    const StageId stage = trace.Stage("s");
    const TrackId track = trace.Thread("t");
    std::mt19937_64 random(3);
    std::vector<std::pair<int64_t, int64_t>> times;
    int64_t at = 86'400LL * 90 * 1'000'000'000;
    for (int i = 0; i < 2000; ++i) {
      const int64_t start = at + static_cast<int64_t>(random() % 1'000'003);
      at = start + static_cast<int64_t>(random() % 5'000'011);
      times.emplace_back(start, at);
      trace.Work(track, stage, start, at);
    }
    const std::string text = Exported(LoadedRun(trace), Format::kChrome);
    const auto spans = Events(json::parse(text), "X");
    REQUIRE(spans.size() == times.size());
    for (size_t i = 0; i < times.size(); ++i) {
      REQUIRE(Ns(spans[i]["ts"]) == times[i].first);
      REQUIRE(Ns(spans[i]["dur"]) == times[i].second - times[i].first);
    }
    char first[64];
    std::snprintf(first, sizeof first, "\"ts\":%lld.%03lld,",
                  static_cast<long long>(times[0].first / 1000),
                  static_cast<long long>(times[0].first % 1000));
    CHECK(text.find(first) != std::string::npos);
  }

  TEST_CASE("nested spans come outside in, though they were emitted inside out") {
    TraceBuilder trace;
    const StageId inner = trace.Stage("inner");
    const StageId outer = trace.Stage("outer");
    const TrackId track = trace.Thread("t");
    trace.Work(track, inner, 100, 200);
    trace.Work(track, inner, 200, 300);
    trace.Work(track, outer, 100, 300);
    const json file = Chrome(trace);
    const auto spans = Events(file, "X");
    REQUIRE(spans.size() == 3);
    CHECK(spans[0]["name"] == "outer");
    CHECK(Crossings(file) == 0);
    CHECK(ThreadNames(file).size() == 1);
  }

  TEST_CASE("device work that overlaps on a stream goes to an additional thread of the device") {
    TraceBuilder trace;
    const TrackId stream = trace.Stream("stream 7", 2);
    const trace::StringId name = trace.Text("sgemm");
    trace.rows().Add(trace::Kernel{1, 1000, 2000, ItemId{1}, 5, 3, stream, name});
    trace.rows().Add(trace::Kernel{1, 1500, 2500, ItemId{1}, 6, 0, stream, name});
    trace.rows().Add(trace::Copy{1, 1700, 1900, ItemId{1}, 4096, 7, stream,
                                 trace::CopyDirection::kHostToDevice, trace::CopyMemory::kPinned});
    const json file = Chrome(trace);
    const auto spans = Events(file, "X");
    REQUIRE(spans.size() == 3);
    CHECK(Crossings(file) == 0);
    CHECK(spans[0]["args"] == json{{"batch", 1}, {"graph", 3}, {"correlation", 5}});
    CHECK(spans[2]["name"] == "copy h2d");
    CHECK(spans[2]["args"]["memory"] == "pinned");
    auto names = ThreadNames(file);
    CHECK(names[spans[0]["tid"]] == "stream 7");
    CHECK(names[spans[1]["tid"]] == "stream 7 (2)");
    CHECK(spans[0]["pid"] == spans[1]["pid"]);
    bool device_named = false;
    for (const json& event : Events(file, "M")) {
      if (event["name"] == "process_name" && event["pid"] == spans[0]["pid"]) {
        CHECK(event["args"]["name"] == "device 2 nothing");
        device_named = true;
      }
    }
    CHECK(device_named);
  }

  TEST_CASE("whatever overlaps, no thread's events cross") {
    TraceBuilder trace;
    const TrackId stream = trace.Stream("s");
    const StageId stage = trace.Stage("w");
    std::mt19937 random(11);
    for (int i = 0; i < 500; ++i) {
      const auto start = static_cast<int64_t>(random() % 5000);
      const int64_t end = start + static_cast<int64_t>(random() % 400);
      trace.rows().Add(trace::Kernel{0, start, end, {}, 0, 0, stream, trace.Text("k")});
      trace.Work(stream, stage, start + 3, start + 90);
    }
    const json file = Chrome(trace);
    CHECK(Events(file, "X").size() == 1000);
    CHECK(Crossings(file) == 0);
  }

  TEST_CASE("steps, counters, knobs and gaps have events of their own") {
    TraceBuilder trace;
    const TrackId track = trace.Thread("trainer");
    const CounterId rss = trace.Counter("rss", "bytes");
    const QueueId queue = trace.Queue("q", 4);
    trace.Step(4, 1000, 1900, track);
    trace.Step(5, 2000, 2900, track);
    trace.rows().Add(trace::Sample{1100, 2.5, rss});
    trace.rows().Add(trace::Sample{1200, std::numeric_limits<double>::infinity(), rss});
    trace.rows().Add(trace::QueueEvent{1300, {}, queue, track, 3, trace::QueueOp::kPush});
    trace.rows().Add(trace::KnobChange{1400, trace.Text("decode.parallelism"), trace.Text("2"),
                                       trace.Text("4")});
    trace.rows().Add(trace::Gap{1500, 1600, 12, track});
    const json file = Chrome(trace);
    const auto steps = Events(file, "X");
    REQUIRE(steps.size() == 2);
    CHECK(steps[0]["name"] == "step 4");
    CHECK(Ns(steps[0]["dur"]) == 1000);
    CHECK(Ns(steps[1]["dur"]) == 900);
    CHECK(ThreadNames(file)[steps[0]["tid"]] == "steps");
    const auto counters = Events(file, "C");
    REQUIRE(counters.size() == 2);
    CHECK(counters[0]["args"] == json{{"bytes", 2.5}});
    CHECK(counters[1]["name"] == "queue q");
    CHECK(counters[1]["args"] == json{{"depth", 3}});
    const auto instants = Events(file, "i");
    REQUIRE(instants.size() == 2);
    CHECK(instants[0]["name"] == "gap");
    CHECK(instants[0]["args"] == json{{"dropped", 12}, {"ns", 100}});
    CHECK(ThreadNames(file)[instants[0]["tid"]] == "trainer");
    CHECK(instants[1]["name"] == "decode.parallelism: 2 to 4");
    CHECK(instants[1]["s"] == "t");

    CHECK(Events(Chrome(trace, What::kSteps), "C").empty());
    CHECK(Events(Chrome(trace, What::kCounters), "X").empty());
    CHECK(Events(Chrome(trace, What::kSpans), "X").empty());
  }

  TEST_CASE("windows in which a stage was slowed are spans on their own thread") {
    TraceBuilder trace;
    const StageId decode = trace.Stage("decode");
    trace.Step(0, 1000, 1900, trace.Thread("trainer"));
    trace.rows().Add(trace::Probe{2000, 3000, StageId::None(), 0, 0, 0});
    trace.rows().Add(trace::Probe{3000, 4000, decode, 5, 800, 200});
    trace.rows().Add(trace::Probe{4000, 5000, StageId::None(), 0, 0, 0});
    const json file = Chrome(trace);
    const auto spans = Events(file, "X");
    REQUIRE(spans.size() == 2);
    CHECK(spans[1]["name"] == "slowed: decode");
    CHECK(spans[1]["cat"] == "probe");
    CHECK(Ns(spans[1]["ts"]) == 3000);
    CHECK(Ns(spans[1]["dur"]) == 1000);
    CHECK(spans[1]["args"] == json{{"elements", 5}, {"work_ns", 800}, {"delay_ns", 200}});
    CHECK(ThreadNames(file)[spans[1]["tid"]] == "slowed stages");
    CHECK(Events(Chrome(trace, What::kSpans), "X").empty());
  }

  TEST_CASE("names of any bytes leave the file valid") {
    TraceBuilder trace;
    trace.run.name = "\"\\\n\xff";
    const StageId stage = trace.Stage("a\"b\\c\x01\xc3(");
    trace.Work(trace.Thread("\x80\x80"), stage, 1, 2);
    const json file = Chrome(trace);
    CHECK(Events(file, "X")[0]["name"] == "a\"b\\c\x01\ufffd(");
    CHECK(file["otherData"]["run"] == "\"\\\n\ufffd");
  }

  TEST_CASE("an empty run is a valid file") {
    TraceBuilder trace;
    CHECK(Chrome(trace)["traceEvents"].empty());
  }
}
