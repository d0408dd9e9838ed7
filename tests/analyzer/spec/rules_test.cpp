// What a spec must hold beyond its fields, each with a neighbour that passes.
#include <doctest/doctest.h>

#include "analyzer/spec/spec_json.h"
#include "analyzer/spec/validate.h"
#include "tests/analyzer/spec/specs.h"

using stallscope::Spec;
using stallscope::Validate;
using stallscope::test::ExampleSpec;
using stallscope::test::WhyNot;
using stallscope::test::WithStages;

namespace {

std::string WithSource(const std::string& fields) {
  return R"({"stages": [{"name": "s", "source": {)" + fields + "}}]}";
}

std::string WithTrainer(const std::string& fields) {
  return R"({"stages": [{"name": "s", "source": {"format": "synthetic"}}], "trainer": {)" + fields +
         "}}";
}

bool Says(const std::string& line, const std::string& part) {
  const bool found = line.find(part) != std::string::npos;
  if (!found) MESSAGE(line);
  return found;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a pipeline begins with its sources, which agree on what all stages read") {
    CHECK(Says(WhyNot(R"({"stages": [{"name": "r", "repeat": {}}]})"),
               "stages[0]: the first stage is a repeat; begin with a source"));
    const std::string second = R"({"name": "t", "source": {"format": "synthetic"}})";
    CHECK(WhyNot(WithStages(second)) == "read");
    CHECK(Says(WhyNot(WithStages(R"({"name": "again", "repeat": {}}, )" + second)),
               "stages[2]: 't' is a source behind 'again'; sources come first"));
    CHECK(Says(WhyNot(WithStages(
                   R"({"name": "t", "source": {"format": "synthetic", "on_error": "skip"}})")),
               "stages[1].source.on_error: on_error of 't' is not that of 's', whose elements "
               "it continues; give both the same"));
    CHECK(WhyNot(WithSource(R"("format": "synthetic")")) == "read");
  }

  TEST_CASE("zipped sources leave nothing about their pairs to timing, the machine or the data") {
    const auto pair = [](const std::string& first, const std::string& second,
                         const std::string& behind = "") {
      const char* const files = R"("format": "csv", "files": ["a.csv"])";
      return WhyNot(R"({"stages": [{"name": "a", "source": {)" + (files + first) +
                    R"(}}, {"name": "b", "source": {)" + (files + second) + "}}" + behind + "]}");
    };
    const std::string zip = R"(, "join": "zip")";
    CHECK(pair("", zip) == "read");
    CHECK(Says(pair(zip, ""),
               "stages[0].source.join: 'a' has no source before it to zip with; leave join out"));
    CHECK(Says(pair("", R"(, "join": "zipp")"), "zip"));
    CHECK(pair("", zip + R"(, "features": {"text": "t"})") == "read");
    const std::string skip = R"(, "on_error": "skip")";
    CHECK(pair(skip, skip) == "read");
    CHECK(Says(pair(skip, skip + zip), "stages[0].source.on_error: 'a' is zipped"));
    CHECK(Says(pair("", zip + skip), "stages[1].source.on_error: 'b' is zipped"));
    CHECK(Says(pair("", zip + R"(, "deterministic": false)"), "timing would decide the pairs"));
    CHECK(Says(pair(R"(, "cycle_length": "auto")", zip), "the number of cores would decide"));
    CHECK(Says(pair(R"(, "cycle_length": 2)", zip),
               "stages[1].source.cycle_length: cycle_length of 'b' is not that of 'a': zipped"));
    CHECK(pair(R"(, "cycle_length": 2)", zip + R"(, "cycle_length": 2)") == "read");
    CHECK(pair(R"(, "cycle_length": 2)", "") == "read");
    CHECK(Says(pair("", zip + R"(, "block_length": 2)"), "block_length of 'b' is not"));
    CHECK(pair("", zip, R"(, {"name": "c", "source": {"format": "synthetic"}})") == "read");
    CHECK(Says(pair("", zip + R"(, "features": {"text": "t"})",
                    R"(, {"name": "c", "source": {"format": "synthetic"}})"),
               "features of 'c' is not that of 'b', whose elements it continues"));
  }

  TEST_CASE("a map names a zipped source") {
    const auto map = [](const std::string& more) {
      return WhyNot(
          WithStages(R"({"name": "text", "source": {"format": "synthetic", "join": "zip"}}, )"
                     R"~({"name": "m", "map": {"ops": ["cast(float32)"], )~" +
                     more + "}}"));
    };
    CHECK(map(R"("input": "text")") == "read");
    CHECK(Says(map(R"("input": "texts")"),
               "stages[2].map.input: no zipped source is called 'texts'; the nearest zipped "
               "source is 'text'"));
    CHECK(Says(map(R"("input": "s")"), "no zipped source is called 's'"));
    CHECK(Says(map(R"("input": "text", "on": "device")"),
               "stages[2].map.input: maps on the device change the first input only"));
    CHECK(Says(WhyNot(WithStages(R"({"name": "m", "map": {"ops": ["flip"], "input": "s"}})")),
               "leave input out"));
  }

  TEST_CASE("names are words of their own") {
    const auto named = [](const std::string& name) {
      return WhyNot(WithStages("{\"name\": \"" + name + "\", \"repeat\": {}}"));
    };
    CHECK(named("A-z_09") == "read");
    CHECK(Says(named("a.b"), "stages[1].name: 'a.b' cannot name a stage; use 1 to 64 letters"));
    CHECK(Says(named("a b"), "cannot name a stage"));
    CHECK(Says(named("\xC3\xA9"), "cannot name a stage"));
    CHECK(Says(named(""), "name is empty"));
    CHECK(named(std::string(64, 'a')) == "read");
    CHECK(Says(named(std::string(65, 'a')), "cannot name a stage"));
    CHECK(Says(named("s"), "a second stage is called 's'"));
    CHECK(named("S") == "read");
    for (const char* part : {"transfer", "trainer", "rewrites", "budget"}) {
      CHECK(Says(named(part), "it is a field of the spec"));
    }
    CHECK(named("transfers") == "read");
    CHECK(named("seed") == "read");
  }

  TEST_CASE("there is one batch, and a bounded number of stages") {
    CHECK(Says(WhyNot(WithStages(R"({"name": "a", "batch": {"size": 2}},
                                    {"name": "b", "batch": {"size": 2}})")),
               "stages[2]: 'b' would make batches of batches; keep it or 'a'"));
    Spec spec = ExampleSpec();
    while (spec.stages.size() < 256) {
      spec.stages.push_back({"r" + std::to_string(spec.stages.size()), stallscope::RepeatSpec{}});
    }
    CHECK(Validate(spec).ok());
    spec.stages.push_back({"last", stallscope::RepeatSpec{}});
    CHECK(Says(Validate(spec).error().Line(), "more than 256 stages"));
  }

  TEST_CASE("a source has files or generates its elements") {
    CHECK(Says(WhyNot(WithSource(R"("format": "csv")")), "the source has no files"));
    CHECK(WhyNot(WithSource(R"("format": "csv", "files": ["a.csv"])")) == "read");
    CHECK(Says(WhyNot(WithSource(R"("format": "csv", "files": ["a", ""])")),
               "stages[0].source.files[1]: the file's name is empty"));
    CHECK(Says(WhyNot(WithSource(R"("format": "synthetic", "files": ["a"])")), "reads no files"));
    CHECK(WhyNot(WithSource(R"("format": "serial", "files": ["a"], "busy_us": 5)")) == "read");
    CHECK(WhyNot(WithSource(R"("format": "serial", "elements": 5)")) == "read");
    CHECK(Says(WhyNot(WithSource(R"("format": "raw", "files": ["a"], "elements": 5)")),
               "source.elements: elements is for a synthetic or serial source"));
    CHECK(Says(WhyNot(WithSource(R"("format": "raw", "files": ["a"], "busy_us": 5)")),
               "busy_us is for a synthetic"));
  }

  TEST_CASE("a shard counts from 0") {
    CHECK(WhyNot(WithStages(R"({"name": "p", "shard": {"count": 4, "index": 3}})")) == "read");
    CHECK(Says(WhyNot(WithStages(R"({"name": "p", "shard": {"count": 4, "index": 4}})")),
               "stages[1].shard.index: index is 4 of 4 shards; count from 0 to 3"));
  }

  TEST_CASE("ops are allowed only where they belong") {
    const auto map = [](const std::string& op, const std::string& more = "") {
      return WhyNot(WithStages(R"({"name": "m", "map": {"ops": [")" + op + "\"]" + more + "}}"));
    };
    const auto filter = [](const std::string& op) {
      return WhyNot(WithStages(R"({"name": "f", "filter": {"op": ")" + op + "\"}}"));
    };
    CHECK(Says(map("decode_jpg"),
               "stages[1].map.ops[0]: unknown op 'decode_jpg'; the nearest known op is "
               "'decode_jpeg'"));
    CHECK(map("decode_jpeg") == "read");
    CHECK(Says(map("resize"), "resize needs its size"));
    CHECK(Says(filter("flip"), "put it into a map"));
    CHECK(filter("keep_one_in(2)") == "read");
    CHECK(Says(map("keep_one_in(2)"), "use it in a filter"));
    CHECK(filter("busy(5)") == "read");
    CHECK(map("busy(5)") == "read");
    CHECK(Says(map("decode_jpeg", R"(, "on": "device")"), "runs on the host only"));
    CHECK(map("normalize", R"(, "on": "device")") == "read");
  }

  TEST_CASE("buckets stand before the batch, with no repeat between them") {
    const std::string bucket = R"({"name": "bucket", "bucket_by_length": {"width": 8}})";
    const std::string batch = R"({"name": "batch", "batch": {"size": 4}})";
    const std::string repeat = R"({"name": "again", "repeat": {}})";
    CHECK(WhyNot(WithStages(repeat + ", " + bucket + ", " + batch)) == "read");
    CHECK(WhyNot(WithStages(bucket + ", " + batch + ", " + repeat)) == "read");
    CHECK(Says(WhyNot(WithStages(batch + ", " + bucket)), "put it before 'batch'"));
    CHECK(Says(WhyNot(WithStages(bucket + ", " + repeat + ", " + batch)),
               "'again' would mix the rests of a pass into batches"));
  }

  TEST_CASE("an update takes the gradients of at least one batch") {
    CHECK(Says(WhyNot(WithTrainer(R"("accumulate": 0)")),
               "trainer.accumulate: accumulate is 0, which is out of range"));
    CHECK(WhyNot(WithTrainer(R"("accumulate": 4)")) == "read");
  }

  TEST_CASE("several replicas need a strategy") {
    CHECK(Says(WhyNot(WithTrainer(R"("strategy": {"replicas": 2})")),
               "trainer.strategy.replicas: 2 replicas need a strategy"));
    CHECK(WhyNot(WithTrainer(R"("strategy": {"kind": "mirrored", "replicas": 2})")) == "read");
    CHECK(WhyNot(WithTrainer(R"("strategy": {"kind": "mirrored"})")) == "read");
  }

  TEST_CASE("an emulated device has a preset or figures") {
    CHECK(WhyNot(WithTrainer(R"("emulated": {"preset": "resnet50_a100"})")) == "read");
    CHECK(WhyNot(WithTrainer(R"("emulated": {"launch_us": 4})")) == "read");
    CHECK(Says(WhyNot(WithTrainer(R"("emulated": {"preset": "resnet50_a100", "launch_us": 4})")),
               "a preset and figures are both given"));
  }

  TEST_CASE("a spec that code put together is checked for its ranges too") {
    CHECK(Validate(ExampleSpec()).ok());
    Spec spec = ExampleSpec();
    std::get<stallscope::MapSpec>(spec.stages[2].kind).parallelism.value = 0;
    const auto range = Validate(spec, "tuned");
    REQUIRE_FALSE(range.ok());
    CHECK(range.error().kind == stallscope::ErrorKind::kUsage);
    CHECK(range.error().Line().find("tuned, stages[2].map.parallelism: parallelism is 0, which") ==
          0);
    spec = ExampleSpec();
    std::get<stallscope::MapSpec>(spec.stages[2].kind).ops.clear();
    CHECK(Says(Validate(spec).error().Line(), "ops is empty"));
    spec = ExampleSpec();
    std::get<stallscope::SourceSpec>(spec.stages[0].kind).files = {"\xff"};
    CHECK(Says(Validate(spec).error().Line(), "not UTF-8"));
    CHECK(stallscope::WriteSpec(spec).find("\xEF\xBF\xBD") != std::string::npos);
    spec = ExampleSpec();
    spec.trainer.optimizer.learning_rate = std::numeric_limits<double>::quiet_NaN();
    CHECK(Says(Validate(spec).error().Line(), "learning_rate"));
    CHECK_FALSE(Validate(Spec{}).ok());
  }
}
