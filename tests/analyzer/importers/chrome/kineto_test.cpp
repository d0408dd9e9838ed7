// PyTorch's profiler, in the dialect of 2021 and in today's.
#include <doctest/doctest.h>

#include <set>
#include <string>

#include "tests/analyzer/importers/chrome/trace_text.h"

using stallscope::test::ReadText;
using stallscope::test::SpansNamed;
using namespace stallscope;

namespace {

// Two steps with a fetch each, a copy, a kernel that runs past its step, a memset.
std::string Today() {
  return R"json({"schemaVersion": 1,
  "deviceProperties": [{"id": 1, "name": "A100", "totalGlobalMem": 42000000000}],
  "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8},
  "traceEvents": [
  {"ph":"X","cat":"user_annotation","name":"ProfilerStep#7","pid":5,"tid":5,"ts":100.000,"dur":50},
  {"ph":"X","cat":"user_annotation","name":"ProfilerStep#8","pid":5,"tid":5,"ts":151.5,"dur":48.5},
  {"ph":"X","cat":"cpu_op","name":"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__","pid":5,"tid":5,"ts":101,"dur":20},
  {"ph":"X","cat":"cpu_op","name":"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__","pid":5,"tid":5,"ts":152,"dur":10},
  {"ph":"X","cat":"cpu_op","name":"aten::to","pid":5,"tid":5,"ts":123,"dur":5},
  {"ph":"X","cat":"cuda_runtime","name":"cudaMemcpyAsync","pid":5,"tid":5,"ts":124,"dur":3,"args":{"correlation":11}},
  {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":5,"tid":5,"ts":140,"dur":3,"args":{"correlation":12}},
  {"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Pinned -> Device)","pid":1,"tid":7,"ts":126,"dur":4,
   "args":{"device":1,"stream":7,"correlation":11,"bytes":4096}},
  {"ph":"X","cat":"kernel","name":"ampere_sgemm","pid":1,"tid":7,"ts":145,"dur":15,
   "args":{"device":1,"stream":7,"correlation":12,"grid":[1,1,1]}},
  {"ph":"X","cat":"gpu_memset","name":"Memset (Device)","pid":1,"tid":7,"ts":162,"dur":1,"args":{"device":1,"stream":7,"correlation":13}},
  {"ph":"X","cat":"gpu_user_annotation","name":"ProfilerStep#7","pid":1,"tid":7,"ts":126,"dur":34},
  {"ph":"s","id":12,"pid":5,"tid":5,"ts":140,"cat":"ac2g","name":"ac2g"},
  {"ph":"M","name":"thread_name","pid":5,"tid":5,"ts":0,"args":{"name":"thread 5 (python)"}},
  {"ph":"X","cat":"Trace","name":"PyTorch Profiler (0)","pid":"Spans","tid":"PyTorch Profiler","ts":1,"dur":999}
  ], "traceName": "t.json", "baseTimeNanoseconds": 1751410836000000000
})json";
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("an MTIA device's packets are kernels and copies, its streams' waits are neither") {
    const auto read = ReadText(R"json({"schemaVersion": 1, "traceEvents": [
  {"ph":"X","cat":"cpu_op","name":"aten::add","pid":5,"tid":5,"ts":1,"dur":5},
  {"ph":"X","cat":"mtia_runtime","name":"runFunction","pid":5,"tid":5,"ts":2,"dur":1,"args":{"correlation":18}},
  {"ph":"X","cat":"mtia_ccp_events","name":"add-dtype_Float","pid":9,"tid":4,"ts":10,"dur":3,"args":{"correlation":18,"stream":102,"row":"0"}},
  {"ph":"X","cat":"mtia_ccp_events","name":"dma_request","pid":9,"tid":4,"ts":13,"dur":2,"args":{"direction":"HOST_TO_DEVICE","size":160,"stream":102}},
  {"ph":"X","cat":"mtia_ccp_events","name":"dma_request","pid":9,"tid":4,"ts":15,"dur":2,"args":{"direction":"DEVICE_TO_HOST","size":16,"stream":102}},
  {"ph":"X","cat":"mtia_ccp_events","name":"event_wait","pid":9,"tid":4,"ts":17,"dur":50,"args":{"wait_on_stream":104,"stream":102}}
]})json");
    REQUIRE(read.ok());
    const auto& rows = read.value().rows;
    REQUIRE(rows.kernels.size() == 1);
    CHECK(rows.kernels[0].enqueued_ns == 2'000);
    CHECK(read.value().tracks[rows.kernels[0].track.value].info.device == 9);
    REQUIRE(rows.copies.size() == 2);
    CHECK(rows.copies[0].direction == trace::CopyDirection::kHostToDevice);
    CHECK(rows.copies[0].bytes == 160);
    CHECK(rows.copies[1].direction == trace::CopyDirection::kDeviceToHost);
    CHECK(SpansNamed(read.value(), "event_wait").size() == 1);
  }

  TEST_CASE("lanes that are no thread's say what they show") {
    const auto read = ReadText(R"json({"schemaVersion": 1, "traceEvents": [
  {"ph":"M","name":"thread_name","pid":0,"tid":7,"args":{"name":"stream 7 "}},
  {"ph":"X","cat":"kernel","name":"add","pid":0,"tid":7,"ts":1,"dur":5,"args":{"device":0,"stream":7}},
  {"ph":"X","cat":"gpu_user_annotation","name":"step","pid":0,"tid":7,"ts":1,"dur":5,"args":{}},
  {"ph":"X","cat":"overhead","name":"Activity Buffer Request","pid":-1,"tid":0,"ts":2,"dur":1,"args":{}}
]})json");
    REQUIRE(read.ok());
    std::set<std::string> names;
    for (const model::Track& track : read.value().tracks) {
      if (track.info.kind == trace::TrackKind::kDetail) names.insert(track.info.name);
    }
    CHECK(names == std::set<std::string>{"profiler", "stream 7, annotations"});
  }

  TEST_CASE("torch.compile's recompilations are counted, with their time") {
    const auto events = [](const std::string& name) {
      std::string text = R"({"schemaVersion": 1, "traceEvents": [)";
      for (int i = 0; i < 3; ++i) {
        text += std::string(i == 0 ? "" : ",") + R"({"ph":"X","cat":"cpu_op","name":")" + name +
                R"(","pid":5,"tid":5,"dur":50,"ts":)" + std::to_string(1000 + 100 * i) + "}";
      }
      return text + "]}";
    };
    for (const char* const name : {"_compile.compile_inner (dynamo_timed)",
                                   "_compile.<locals>.compile_inner (dynamo_timed)"}) {
      CAPTURE(name);
      const auto read = ReadText(events(name));
      REQUIRE(read.ok());
      const model::Run& run = read.value();
      REQUIRE(run.counters.size() == 2);
      CHECK(run.counters[0].name == "compilations");
      CHECK(run.counters[1].name == "compilations time");
      REQUIRE(run.rows.samples.size() == 6);
      CHECK(run.rows.samples[4].value == 3);
      CHECK(run.rows.samples[5].value == 150'000);
      // It is an event like any other besides.
      CHECK(SpansNamed(run, name).size() == 3);
    }
    // What lies inside, or only runs what was compiled, is none.
    for (const char* const name : {"bytecode_tracing (dynamo_timed)", "Torch-Compiled Region: 0/0",
                                   "entire_frame_compile"}) {
      CAPTURE(name);
      const auto read = ReadText(events(name));
      REQUIRE(read.ok());
      CHECK(read.value().counters.empty());
    }
  }

  TEST_CASE("steps begin with their mark and end with the work they launched") {
    const auto read = ReadText(Today());
    REQUIRE(read.ok());
    const model::Run& run = read.value();
    REQUIRE(run.rows.steps.size() == 2);
    const trace::Step& step = run.rows.steps[0];
    CHECK(step.index == 7);
    CHECK(step.requested_ns == 100'000);
    CHECK(step.received_ns == 121'000);
    CHECK(step.issued_ns == 140'000);
    CHECK(step.device_done_ns == 160'000);
    CHECK(run.rows.steps[1].requested_ns == 151'500);
    // Nothing was launched in the second.
    CHECK(run.rows.steps[1].device_done_ns == 200'000);
    CHECK(run.info.rank == 3);
    CHECK(run.info.world_size == 8);
    CHECK(run.info.device.name == "A100");
    CHECK(run.info.start_realtime_ns - run.info.start_ns == 1'751'410'836'000'000'000);
  }

  TEST_CASE("device work is joined with the call that launched it") {
    const auto read = ReadText(Today());
    REQUIRE(read.ok());
    const model::Run& run = read.value();
    REQUIRE(run.rows.kernels.size() == 1);
    CHECK(run.rows.kernels[0].enqueued_ns == 140'000);
    CHECK(run.Text(run.rows.kernels[0].name) == "ampere_sgemm");
    REQUIRE(run.rows.copies.size() == 1);
    const trace::Copy& copy = run.rows.copies[0];
    CHECK(copy.enqueued_ns == 124'000);
    CHECK(copy.bytes == 4096);
    CHECK(copy.memory == trace::CopyMemory::kPinned);
    CHECK(copy.direction == trace::CopyDirection::kHostToDevice);
    const model::Track& stream = run.tracks[copy.track.value];
    CHECK(stream.info.kind == trace::TrackKind::kStream);
    CHECK(stream.info.device == 1);
    // The memset lies on the stream itself; annotations do not.
    CHECK(stream.spans.size() == 1);
  }

  TEST_CASE("a fetch is a wait explained by its own work or by other processes") {
    const auto single = ReadText(Today());
    REQUIRE(single.ok());
    std::string text = Today();
    for (size_t at = text.find("_SingleP"); at != std::string::npos; at = text.find("_SingleP")) {
      text.replace(at, 8, "_MultiP");
    }
    const auto multi = ReadText(text);
    REQUIRE(multi.ok());
    const auto accounted = [](const model::Run& run) {
      size_t spans = 0;
      for (const auto& track : run.tracks) {
        if (track.info.kind == trace::TrackKind::kThread) spans += track.spans.size();
      }
      return spans;
    };
    CHECK(accounted(single.value()) == 4);
    CHECK(accounted(multi.value()) == 4);
    REQUIRE(single.value().stages.size() == 1);
    CHECK(single.value().stages[0].name == "DataLoader");
    CHECK(single.value().stages[0].workers == 1);
  }

  TEST_CASE("the dialect of 2021 gives the same run") {
    std::string text = Today();
    const auto replace = [&](const std::string& from, const std::string& to) {
      for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
        text.replace(at, from.size(), to);
        at += to.size();
      }
    };
    replace("\"cpu_op\"", "\"Operator\"");
    replace("\"user_annotation\"", "\"Operator\"");
    replace("\"cuda_runtime\"", "\"Runtime\"");
    replace("\"kernel\"", "\"Kernel\"");
    replace("\"gpu_memcpy\"", "\"Memcpy\"");
    replace("\"gpu_memset\"", "\"Memset\"");
    replace("\"tid\":7", "\"tid\":\"stream 7\"");
    replace("\"tid\":5", "\"tid\":\"5\"");
    const auto then = ReadText(text);
    const auto now = ReadText(Today());
    REQUIRE(then.ok());
    REQUIRE(now.ok());
    CHECK(then.value().rows.steps == now.value().rows.steps);
    CHECK(then.value().rows.kernels == now.value().rows.kernels);
    CHECK(then.value().rows.copies == now.value().rows.copies);
  }

  TEST_CASE("without marks, fetches begin the steps, else the kernels' rounds") {
    std::string text = Today();
    for (size_t at = text.find("ProfilerStep#"); at != std::string::npos;
         at = text.find("ProfilerStep#")) {
      text.replace(at, 13, "Forward");
    }
    const auto by_fetch = ReadText(text);
    REQUIRE(by_fetch.ok());
    // No kernel comes after the second fetch.
    REQUIRE(by_fetch.value().rows.steps.size() == 1);
    CHECK(by_fetch.value().rows.steps[0].requested_ns == 101'000);

    std::string kernels = "[";
    for (int round = 0; round < 5; ++round) {
      for (const char* name : {"first", "second", "second", "third"}) {
        static int at = 0;
        kernels += R"json({"ph":"X","cat":"kernel","pid":0,"tid":7,"dur":3,"name":")json" +
                   std::string(name) + R"json(","ts":)json" + std::to_string(10 * at++) + "},";
      }
    }
    const auto by_rhythm = ReadText(kernels);
    REQUIRE(by_rhythm.ok());
    REQUIRE(by_rhythm.value().rows.steps.size() == 5);
    CHECK(by_rhythm.value().rows.steps[1].requested_ns == 40'000);
    CHECK(by_rhythm.value().info.limits.front().starts_with("throughput") == false);
    // Without a round there is no rhythm.
    const auto none = ReadText(R"json([{"ph":"X","cat":"kernel","pid":0,"tid":7,"ts":1,"dur":3,
      "name":"a"},{"ph":"X","cat":"kernel","pid":0,"tid":7,"ts":9,"dur":3,"name":"b"}])json");
    REQUIRE(none.ok());
    CHECK(none.value().rows.steps.empty());
  }

  TEST_CASE("ROCm's and other names of copies") {
    const auto read = ReadText(R"json([
      {"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Host -> Device)","pid":2,"tid":0,"ts":1,"dur":1},
      {"ph":"X","cat":"gpu_memcpy","name":"CopyDeviceToHost","pid":2,"tid":0,"ts":3,"dur":1},
      {"ph":"X","cat":"gpu_memcpy","name":"Memcpy DtoD (Device -> Device)","pid":2,"tid":0,"ts":5,"dur":1},
      {"ph":"X","cat":"gpu_memcpy","name":"Memcpy DtoH (Device -> Pageable)","pid":2,"tid":0,"ts":7,"dur":1}])json");
    REQUIRE(read.ok());
    const auto& copies = read.value().rows.copies;
    REQUIRE(copies.size() == 4);
    CHECK(copies[0].direction == trace::CopyDirection::kHostToDevice);
    CHECK(copies[0].memory == trace::CopyMemory::kUnknown);
    CHECK(copies[1].direction == trace::CopyDirection::kDeviceToHost);
    CHECK(copies[2].direction == trace::CopyDirection::kDeviceToDevice);
    CHECK(copies[3].memory == trace::CopyMemory::kPageable);
  }
}
