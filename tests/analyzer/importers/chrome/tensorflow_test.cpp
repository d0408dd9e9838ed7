// tf.data's iterators in TensorFlow's trace.json.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "tests/analyzer/importers/chrome/trace_text.h"

using stallscope::test::ReadText;
using namespace stallscope;

namespace {

// Four steps of 100 us. In each the trainer waits 60 us for Map, which takes 40 of them itself and
// asks TensorSlice for the rest. `map` and `slice` are the events' names and further arguments.
std::string Text(const std::string& process, const std::string& map, const std::string& slice,
                 const std::string& step = R"("step_num": "{}")") {
  std::string events =
      fmt::format(R"({{"ph":"M","name":"process_name","pid":1,"tid":0,"args":{{"name":"{}"}}}},)"
                  R"({{"ph":"M","name":"thread_name","pid":1,"tid":7,"args":{{"name":"python"}}}})",
                  process);
  const auto add = [&](const std::string& what, int ts, int dur) {
    events += fmt::format(R"(,{{"ph":"X","pid":1,"tid":7,"ts":{},"dur":{},{}}})", ts, dur, what);
  };
  for (int k = 0; k < 4; ++k) {
    const int at = 1000 + 100 * k;
    add(R"("name":"train","args":{)" + fmt::format(fmt::runtime(step), 10 + k) + "}", at, 95);
    add(R"("name":"IteratorGetNextOp::DoCompute")", at + 1, 60);
    add(map, at + 1, 60);
    add(slice, at + 2, 20);
  }
  return R"({"displayTimeUnit":"ns","traceEvents":[)" + events + "]}";
}

std::string Iterator(const std::string& name, const std::string& arguments = "") {
  return R"("name":")" + name + R"(","args":{)" + arguments + "}";
}

// "TensorSlice -> Map -> trainer"
std::string ChainOf(const model::Run& run) {
  std::string chain;
  for (const trace::StageInfo& stage : run.stages) {
    for (const StageId input : stage.inputs) {
      chain += std::string(run.NameOf(input)) + " -> " + stage.name + "; ";
    }
  }
  return chain;
}

int64_t OwnTimeOf(const model::Run& run, const std::string& stage) {
  int64_t ns = 0;
  for (const model::Track& track : run.tracks) {
    for (size_t i = 0; i < track.spans.size(); ++i) {
      const trace::SpanClass& what = run.ClassOf(track, i);
      if (what.kind == trace::SpanKind::kWork && run.NameOf(what.stage) == stage) {
        ns += track.spans.DurationNs(i);
      }
    }
  }
  return ns;
}

void CheckPipeline(const std::string& text) {
  const auto read = ReadText(text);
  REQUIRE(read.ok());
  const model::Run& run = read.value();
  CHECK(run.format == "tensorflow");
  CHECK(ChainOf(run) == "TensorSlice -> Map; Map -> trainer; ");
  // What lies inside is the other stage's: attribution takes it off.
  CHECK(OwnTimeOf(run, "Map") == 4 * 60'000);
  CHECK(OwnTimeOf(run, "TensorSlice") == 4 * 20'000);
  REQUIRE(run.rows.steps.size() == 4);
  CHECK(run.rows.steps[0].index == 10);
  CHECK(run.rows.steps[0].received_ns == 1'061'000);
  CHECK(run.rows.steps[0].samples == 8);
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("iterators named by their path are stages") {
    CheckPipeline(Text("/host:CPU", Iterator("Iterator::Root::Map", R"("batch_size":"8")"),
                       Iterator("Iterator::Root::Map::TensorSlice[1]")));
  }

  TEST_CASE("iterators of one kind are told apart by those between them and the trainer") {
    const auto nearer = [](const std::string& outer, const std::string& inner) {
      const auto read = ReadText(Text("/host:CPU", Iterator(outer), Iterator(inner)));
      REQUIRE(read.ok());
      std::string found;
      for (const trace::StageInfo& stage : read.value().stages) {
        const auto setting = stage.settings.find(trace::kNearerTrainer);
        if (setting != stage.settings.end()) found += stage.name + " " + setting->second + "; ";
      }
      return found;
    };
    CHECK(nearer("Iterator::Root::Map", "Iterator::Root::Map::Map") == "Map 1; ");
    // Also if the trace lacks some of these.
    CHECK(nearer("Iterator::Root::Batch", "Iterator::Root::Batch::Map::Shuffle::Map") == "Map 1; ");
    CHECK(nearer("Iterator::Root::Map", "Iterator::Root::Map::MapAndBatch") == "");
  }

  TEST_CASE("iterators with their own name and numbers are stages") {
    CheckPipeline(Text("/host:CPU", Iterator("Iterator::Map", R"("id":"3","batch_size":"8")"),
                       Iterator("Iterator::TensorSlice", R"("id":"4","parent_id":"3")")));
    CheckPipeline(
        Text("/host:CPU", Iterator("Iterator::Map#id=3#", R"("id":3,"batch_size":8)"),
             Iterator("Iterator::TensorSlice#id=4,parent_id=3#", R"("id":4,"parent_id":3)")));
  }

  TEST_CASE("iterators without numbers belong to the enclosing call's iterator") {
    CheckPipeline(Text("/host:CPU", Iterator("Iterator::Map", R"("batch_size":"8")"),
                       Iterator("Iterator::TensorSlice")));
  }

  TEST_CASE("fetches begin the steps if nothing is numbered") {
    const auto read = ReadText(Text("/host:CPU", Iterator("Iterator::Map"),
                                    Iterator("Iterator::TensorSlice"), R"("other": {})"));
    REQUIRE(read.ok());
    CHECK(read.value().rows.steps.size() == 4);
    CHECK(read.value().rows.steps[0].requested_ns == 1'001'000);
    CHECK(read.value().rows.steps[0].samples == 0);
  }

  TEST_CASE("retraced functions and eager ops are counted") {
    const auto counters = [](const std::string& arguments) {
      const auto read = ReadText(
          Text("/host:CPU", Iterator("train_step", arguments), Iterator("Iterator::TensorSlice")));
      REQUIRE(read.ok());
      std::string names;
      for (const trace::CounterInfo& counter : read.value().counters) names += counter.name + "; ";
      return names;
    };
    CHECK(counters(R"("tf_function_call":"traced-nonXla")") == "compilations; compilations time; ");
    CHECK(counters(R"("tf_function_call":"notTraced-nonXla")").empty());
    CHECK(counters(R"("eager_op":"MatMul","is_func":"0")") == "eager ops; eager ops time; ");
    CHECK(counters(R"("eager_op":"__inference_f","is_func":"1")").empty());
  }

  TEST_CASE("another program's events with such names are not stages") {
    const auto read =
        ReadText(Text("renderer", Iterator("Iterator::Map"), Iterator("Iterator::TensorSlice")));
    REQUIRE(read.ok());
    CHECK(read.value().format == "chrome");
    CHECK(read.value().stages.empty());
    CHECK(read.value().rows.steps.empty());
  }
}
