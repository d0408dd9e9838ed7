// Plain trace events: pairs, asynchronous ones, counters, names.
#include <doctest/doctest.h>

#include "tests/analyzer/importers/chrome/trace_text.h"

using stallscope::test::ReadText;
using stallscope::test::Seen;
using stallscope::test::SpansNamed;
using stallscope::test::Warned;

TEST_SUITE("fast") {
  TEST_CASE("begin and end pairs become nested spans") {
    const auto run = ReadText(R"([
      {"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"worker"}},
      {"ph":"B","name":"outer","pid":1,"tid":2,"ts":1},
      {"ph":"B","name":"inner","pid":1,"tid":2,"ts":2.5},
      {"ph":"E","pid":1,"tid":2,"ts":3},
      {"ph":"E","name":"outer","pid":1,"tid":2,"ts":9.001}])");
    REQUIRE(run.ok());
    CHECK(run.value().format == "chrome");
    const auto outer = SpansNamed(run.value(), "outer");
    REQUIRE(outer.size() == 1);
    CHECK(outer[0].start_ns == 1'000);
    CHECK(outer[0].end_ns == 9'001);
    CHECK(outer[0].track == "worker");
    CHECK(SpansNamed(run.value(), "inner").at(0).end_ns == 3'000);
    CHECK(run.value().quality.warnings.empty());
    CHECK(run.value().quality.Complete());
  }

  TEST_CASE("mismatched pairs are repaired and counted") {
    const auto run = ReadText(R"([
      {"ph":"E","name":"never begun","pid":1,"tid":1,"ts":0},
      {"ph":"B","name":"a","pid":1,"tid":1,"ts":1},
      {"ph":"B","name":"b","pid":1,"tid":1,"ts":2},
      {"ph":"E","name":"a","pid":1,"tid":1,"ts":5},
      {"ph":"B","name":"open","pid":1,"tid":1,"ts":6},
      {"ph":"X","name":"x","pid":1,"tid":2,"ts":6,"dur":1}])");
    REQUIRE(run.ok());
    CHECK(SpansNamed(run.value(), "a").at(0).end_ns == 5'000);
    CHECK(SpansNamed(run.value(), "b").at(0).end_ns == 5'000);
    CHECK(SpansNamed(run.value(), "open").at(0).end_ns == 6'000);
    CHECK(SpansNamed(run.value(), "never begun").empty());
    CHECK(Warned(run.value(), "1 event ends without having begun"));
    CHECK(Warned(run.value(), "1 event ends under another event's name"));
    CHECK(Warned(run.value(), "1 event never ends"));
  }

  TEST_CASE("asynchronous events match by category and id, on any thread") {
    const auto run = ReadText(R"([
      {"ph":"b","cat":"net","id":"0x1","name":"get","pid":1,"tid":1,"ts":1},
      {"ph":"b","cat":"net","id":"0x2","name":"put","pid":1,"tid":1,"ts":2},
      {"ph":"e","cat":"net","id":"0x1","name":"get","pid":1,"tid":9,"ts":7},
      {"ph":"e","cat":"disk","id":"0x2","name":"put","pid":1,"tid":9,"ts":8}])");
    REQUIRE(run.ok());
    CHECK(SpansNamed(run.value(), "get").at(0).end_ns == 7'000);
    CHECK(SpansNamed(run.value(), "put").at(0).end_ns == 8'000);
    CHECK(Warned(run.value(), "1 asynchronous event never ends: assumed"));
    CHECK(Warned(run.value(), "1 asynchronous event ends without having begun"));
  }

  TEST_CASE("counters keep their series apart") {
    const auto run = ReadText(R"([
      {"ph":"C","name":"queue","pid":1,"ts":1,"args":{"depth":3,"bytes":12.5,"text":"no"}},
      {"ph":"C","name":"queue","pid":1,"ts":2,"args":{"depth":4}}])");
    REQUIRE(run.ok());
    REQUIRE(run.value().counters.size() == 2);
    CHECK(run.value().counters[0].name == "queue.depth");
    REQUIRE(run.value().rows.samples.size() == 3);
    CHECK(run.value().rows.samples[1].value == 12.5);
    CHECK(run.value().rows.samples[2].time_ns == 2'000);
  }

  TEST_CASE("pids and tids may be numbers or texts") {
    const auto run = ReadText(R"([
      {"ph":"X","name":"a","pid":"5","tid":"main","ts":1,"dur":1},
      {"ph":"X","name":"b","pid":5,"tid":"main","ts":3,"dur":1},
      {"ph":"X","name":"c","pid":5,"tid":"other","ts":3,"dur":1}])");
    REQUIRE(run.ok());
    CHECK(run.value().tracks.size() == 2);
    CHECK(run.value().tracks[0].spans.size() == 2);
  }

  TEST_CASE("threads of the same name are told apart by their processes") {
    const auto read = ReadText(R"([
      {"ph":"M","name":"process_name","pid":1,"tid":1,"args":{"name":"pool-1"}},
      {"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{"name":"Main"}},
      {"ph":"M","name":"thread_name","pid":2,"tid":1,"args":{"name":"Main"}},
      {"ph":"M","name":"thread_name","pid":2,"tid":3,"args":{"name":"io"}},
      {"ph":"M","name":"thread_name","pid":2,"tid":4,"args":{"name":"io"}},
      {"ph":"M","name":"thread_name","pid":5,"tid":1,"args":{"name":"io"}},
      {"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1},
      {"ph":"X","name":"b","pid":2,"tid":1,"ts":1,"dur":1},
      {"ph":"X","name":"c","pid":2,"tid":3,"ts":1,"dur":1},
      {"ph":"X","name":"d","pid":2,"tid":4,"ts":1,"dur":1}])");
    REQUIRE(read.ok());
    const auto track_of = [&](const char* span) { return SpansNamed(read.value(), span)[0].track; };
    CHECK(track_of("a") == "pool-1: Main");
    CHECK(track_of("b") == "2: Main");
    // Of one process; process 5 has a name alike, but nothing to show.
    CHECK(track_of("c") == "io");
    CHECK(track_of("d") == "io");
  }

  TEST_CASE("TF1's timeline is counted once") {
    const auto events = [](const char* stream) {
      return std::string(R"({"traceEvents":[
        {"ph":"M","name":"process_name","pid":1,"args":{"name":"/gpu:0/stream:all Compute"}},
        {"ph":"M","name":"process_name","pid":2,"args":{"name":"/gpu:0/)") +
             stream + R"( Compute"}},
        {"ph":"X","cat":"Op","name":"MatMul","pid":1,"tid":0,"ts":10,"dur":5},
        {"ph":"X","cat":"Op","name":"MatMul","pid":2,"tid":0,"ts":10,"dur":5},
        {"ph":"X","cat":"Op","name":"MEMCPYHtoD","pid":2,"tid":0,"ts":20,"dur":5}]})";
    };
    const auto run = ReadText(events("stream:12"));
    REQUIRE(run.ok());
    CHECK(run.value().format == "tensorflow");
    CHECK(run.value().rows.kernels.size() == 1);
    CHECK(run.value().rows.copies.size() == 1);
    // Where there are no streams by number, "all" is all there is.
    const auto all = ReadText(events("thread:12"));
    REQUIRE(all.ok());
    CHECK(all.value().rows.kernels.size() == 1);
    CHECK(all.value().rows.copies.empty());
  }

  TEST_CASE("a file without events is not a trace") {
    for (const char* text : {"{}", "[]", R"({"traceEvents": []})", R"({"a": [{"b": 1}]})"}) {
      CAPTURE(text);
      const auto run = ReadText(text);
      REQUIRE_FALSE(run.ok());
      CHECK(run.error().kind == stallscope::ErrorKind::kInput);
    }
  }
}
