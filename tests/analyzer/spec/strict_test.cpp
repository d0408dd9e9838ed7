// What the reader refuses, each with a neighbour that it takes.
#include <doctest/doctest.h>

#include "analyzer/spec/spec_json.h"
#include "tests/analyzer/spec/specs.h"

using stallscope::test::WhyNot;
using stallscope::test::WithStages;

namespace {

// `inside` is a JSON path; the rest of the error follows.
std::string Map(const std::string& fields) {
  return WithStages(R"({"name": "m", "map": {"ops": ["flip"])" + fields + "}}");
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("an unknown key is named with its place and the nearest known one") {
    CHECK(WhyNot("{\"stages\": [\n  {\"name\": \"s\", \"source\": {\"format\": \"synthetic\",\n"
                 "    \"paralelism\": 2}}]}") ==
          "s.json:3:5, stages[0].source: unknown key 'paralelism'; "
          "the nearest known key is 'parallelism'");
    CHECK(WhyNot(Map(R"(, "parallelism": 2)")) == "read");
    CHECK(WhyNot(WithStages(R"({"name": "m", "mpa": {}})")).find("'map'") != std::string::npos);
    CHECK(WhyNot(R"({"stage": []})").find("'stages'") != std::string::npos);
    CHECK(WhyNot(R"({"stages": [{"name": "s", "source": {"format": "synthetic"}}],
                     "trainer": {"model": {"widht": 3}}})")
              .find("s.json:2:44, trainer.model: unknown key 'widht'; the nearest known key is "
                    "'width'") == 0);
  }

  TEST_CASE("an unknown key at the top says what the top has") {
    const std::string why = WhyNot(R"({"name": "x", "pipeline": []})");
    CHECK(why.find(
              "s.json:1:15: unknown key 'pipeline'; the top level has 'name', 'seed', 'stages'") ==
          0);
    CHECK(why.find("nearest") == std::string::npos);
    CHECK(why.find("'trainer'") != std::string::npos);
    // Below the top the nearest is named where it is near, and all where none is.
    CHECK(WhyNot(Map(R"(, "gpu_memory": 1)")).find("give one of 'ops', ") != std::string::npos);
  }

  TEST_CASE("keys are case-sensitive") {
    CHECK(WhyNot(Map(R"(, "Parallelism": 2)")).find("'parallelism'") != std::string::npos);
  }

  TEST_CASE("a value of the wrong type is refused") {
    CHECK(WhyNot(Map(R"(, "parallelism": "2")")) ==
          "s.json:1:117, stages[1].map.parallelism: parallelism is '2'; give an integer from "
          "1 to 1024 or \"auto\"");
    CHECK(WhyNot(Map(R"(, "parallelism": 2.5)")).find("parallelism is 2.5") != std::string::npos);
    CHECK(WhyNot(Map(R"(, "parallelism": true)")).find("is true") != std::string::npos);
    CHECK(WhyNot(Map(R"(, "parallelism": null)")).find("is null") != std::string::npos);
    CHECK(WhyNot(Map(R"(, "deterministic": 1)")).find("give true or false") != std::string::npos);
    CHECK(WhyNot(Map(R"(, "on": 1)")).find("on is a number") != std::string::npos);
    CHECK(WhyNot(WithStages(R"({"name": "m", "map": {"ops": "flip"}})")).find("list of strings") !=
          std::string::npos);
    CHECK(WhyNot(WithStages(R"({"name": "m", "map": {"ops": ["flip", 3]}})"))
              .find("stages[1].map.ops[1]: ops holds a number") != std::string::npos);
    CHECK(WhyNot(WithStages(R"({"name": "m", "map": []})")).find("not an object but a list") !=
          std::string::npos);
    CHECK(WhyNot(R"({"stages": {}})").find("stages is an object") != std::string::npos);
    CHECK(WhyNot(R"([])").find("s.json:1:1: not an object but a list") == 0);
    CHECK(WhyNot(R"({"stages": [{"name": "s", "source":
                     {"format": "serial", "features": {"image": 3}}}]})")
              .find("stages[0].source.features.image: features is a number") != std::string::npos);
    CHECK(WhyNot(R"({"stages": [{"name": "s", "source":
                     {"format": "serial", "features": {"image": "x"}}}]})") == "read");
  }

  TEST_CASE("only a knob may be auto") {
    CHECK(WhyNot(Map(R"(, "parallelism": "auto")")) == "read");
    CHECK(WhyNot(Map(R"(, "parallelism": "Auto")")) != "read");
    CHECK(WhyNot(WithStages(R"({"name": "b", "batch": {"size": "auto"}})"))
              .find("size is a string; give an integer from 1 to 1000000") != std::string::npos);
    CHECK(WhyNot(WithStages(R"({"name": "p", "prefetch": {"buffer_size": "auto"}})")) == "read");
  }

  TEST_CASE("a number outside its range is refused, its ends are not") {
    CHECK(WhyNot(Map(R"(, "parallelism": 0)"))
              .find("parallelism is 0, which is out of range; give an integer from 1 to 1024") !=
          std::string::npos);
    CHECK(WhyNot(Map(R"(, "parallelism": -1)")).find("is -1, which") != std::string::npos);
    CHECK(WhyNot(Map(R"(, "parallelism": 1)")) == "read");
    CHECK(WhyNot(Map(R"(, "parallelism": 1024)")) == "read");
    CHECK(WhyNot(Map(R"(, "parallelism": 1025)")) != "read");
    CHECK(WhyNot(Map(R"(, "parallelism": -9223372036854775808)")) != "read");
    CHECK(WhyNot(Map(R"(, "parallelism": 18446744073709551615)")) != "read");
    CHECK(WhyNot(Map(R"(, "parallelism": 1e300)")) != "read");
    CHECK(WhyNot(Map(R"(, "parallelism": 1e999)")).find("not JSON") != std::string::npos);
    const std::string source = R"("stages": [{"name": "s", "source": {"format": "synthetic"}}]})";
    CHECK(WhyNot(R"({"seed": 9007199254740991, )" + source) == "read");
    CHECK(WhyNot(R"({"seed": 9007199254740992, )" + source) != "read");
    CHECK(WhyNot(R"({"trainer": {"optimizer": {"momentum": 1}}, )" + source) == "read");
    CHECK(WhyNot(R"({"trainer": {"optimizer": {"momentum": 1.001}}, )" + source) != "read");
    CHECK(WhyNot(R"({"trainer": {"emulated": {"h2d_gbps_pinned": 0}}, )" + source) != "read");
  }

  TEST_CASE("an unknown word names the nearest") {
    CHECK(WhyNot(R"({"stages": [{"name": "s", "source": {"format": "tfrecords"}}]})")
              .find("stages[0].source.format: unknown format 'tfrecords'; the nearest is "
                    "'tfrecord' of 'tfrecord', 'images'") != std::string::npos);
    CHECK(WhyNot(Map(R"(, "on": "gpu")")).find("unknown on 'gpu'") != std::string::npos);
    CHECK(WhyNot(Map(R"(, "on": "device")")) == "read");
  }

  TEST_CASE("a duplicate key is refused where it stands") {
    CHECK(WhyNot(Map(",\n \"on\": \"host\",\n \"on\": \"host\"")) ==
          "s.json:3:2, stages[1].map: the key 'on' is given twice; keep one of them");
    CHECK(WhyNot("{\"seed\": 1, \"seed\": 1}").find("s.json:1:13: the key 'seed'") == 0);
    CHECK(WhyNot(R"({"stages": [], "stages": []})").find("twice") != std::string::npos);
  }

  TEST_CASE("what is not JSON is refused where it stops being it") {
    CHECK(WhyNot("").find("s.json:1:1: not JSON") == 0);
    CHECK(WhyNot("{\"seed\": 1,\n  \"stages\" []}").find("s.json:2:12: not JSON") == 0);
    CHECK(WhyNot("{\"seed\": 1 // one\n}").find("not JSON") != std::string::npos);
    CHECK(WhyNot("/* */ {}").find("not JSON") != std::string::npos);
    CHECK(WhyNot("{\"seed\": 1,}").find("not JSON") != std::string::npos);
    CHECK(WhyNot("{\"seed\": NaN}").find("not JSON") != std::string::npos);
    CHECK(WhyNot("{\"name\": \"\xff\"}").find("not JSON") != std::string::npos);
    const std::string good = stallscope::test::kExample;
    CHECK(WhyNot(good + " \n") == "read");
    CHECK(WhyNot(good + "x").find("not JSON") != std::string::npos);
    CHECK(WhyNot(good + "{}").find("not JSON") != std::string::npos);
    CHECK(WhyNot(good.substr(0, good.size() / 2)).find("not JSON") != std::string::npos);
  }

  TEST_CASE("nesting is bounded") {
    const auto nested = [](size_t depth) {
      return "{\"x\": " + std::string(depth - 1, '[') + std::string(depth - 1, ']') + "}";
    };
    CHECK(WhyNot(nested(32)).find("unknown key") != std::string::npos);
    CHECK(WhyNot(nested(33)).find("nested deeper than 32 levels") != std::string::npos);
    CHECK(WhyNot(std::string(1 << 20, '[')).find("nested deeper") != std::string::npos);
  }

  TEST_CASE("a stage is of one kind") {
    CHECK(WhyNot(WithStages(R"({"name": "m"})"))
              .find("stages[1]: no kind is given; give one of 'source'") != std::string::npos);
    CHECK(WhyNot(WithStages(R"({"name": "m", "repeat": {}, "cache": {}})"))
              .find("stages[1]: 'repeat' and 'cache' are both given") != std::string::npos);
    CHECK(WhyNot(WithStages(R"({"name": "m", "repeat": {}})")) == "read");
  }

  TEST_CASE("what has no default must be there") {
    CHECK(WhyNot("{}").find("stages is missing") != std::string::npos);
    CHECK(WhyNot(R"({"stages": []})").find("stages is empty") != std::string::npos);
    CHECK(WhyNot(WithStages(R"({"repeat": {}})")).find("stages[1]: name is missing") !=
          std::string::npos);
    CHECK(WhyNot(WithStages(R"({"name": "b", "batch": {}})"))
              .find("stages[1].batch: size is missing") != std::string::npos);
    CHECK(WhyNot(WithStages(R"({"name": "m", "map": {"ops": []}})")).find("ops is empty") !=
          std::string::npos);
    CHECK(WhyNot(WithStages(R"({"name": "x", "snapshot": {"path": ""}})")).find("path is empty") !=
          std::string::npos);
    CHECK(WhyNot(WithStages(R"({"name": "x", "snapshot": {"path": "p"}})")) == "read");
    CHECK(WhyNot(R"({"stages": [{"name": "s", "source": {}}]})").find("format is missing") !=
          std::string::npos);
  }

  TEST_CASE("an error is one line, however long and odd the text") {
    const std::string key(100000, 'k');
    CHECK(WhyNot("{\"" + key + "\": 1}").size() < 300);
    CHECK(WhyNot(R"({"a\nb": 1})").find('\n') == std::string::npos);
    CHECK(WhyNot("{\"seed\": " + std::string(100000, 'x') + "}").size() < 400);
    CHECK(WhyNot(Map(", \"on\": \"" + key + "\"")).size() < 400);
  }

  TEST_CASE("a place is found behind escapes, brackets in texts and a byte order mark") {
    CHECK(WhyNot("\xEF\xBB\xBF{\"name\": \"}]\\\"\", \"s\\u0065ed\": 1,\n \"x\": [1, {\"y\": 2}], "
                 "\"stages\": 3}")
              .find("s.json:2:2: unknown key 'x'") == 0);
  }
}
