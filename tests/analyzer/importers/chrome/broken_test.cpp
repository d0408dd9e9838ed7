// Broken JSON: whatever can be read is read, and the rest is counted.
#include <doctest/doctest.h>

#include <string>

#include "tests/analyzer/importers/chrome/trace_text.h"

using stallscope::test::ReadText;
using stallscope::test::SpansNamed;
using stallscope::test::Warned;

namespace {

std::string EventLine(int i, const std::string& name = "x") {
  return R"({"ph":"X","name":")" + name + R"(","pid":1,"tid":1,"ts":)" + std::to_string(10 * i) +
         R"(,"dur":5,"args":{"n":[1,{"a":"},{"}]}})";
}

std::string EventLines(int count, const std::string& name = "x") {
  std::string text;
  for (int i = 0; i < count; ++i) text += (i != 0 ? ",\n" : "") + EventLine(i, name);
  return text;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a bare array may lack its end, an object's list must not") {
    const auto bare = ReadText("[" + EventLines(3));
    REQUIRE(bare.ok());
    CHECK(SpansNamed(bare.value(), "x").size() == 3);
    CHECK(bare.value().quality.Complete());
    const auto object = ReadText("{\"traceEvents\": [" + EventLines(3));
    REQUIRE(object.ok());
    CHECK(SpansNamed(object.value(), "x").size() == 3);
    CHECK(Warned(object.value(), "the file ends before its list of events does"));
  }

  TEST_CASE("a trailing comma does no harm") {
    for (const char* end : {",]", ",", ",\n]}"}) {
      const auto run = ReadText("[" + EventLines(3) + end);
      REQUIRE(run.ok());
      CHECK(SpansNamed(run.value(), "x").size() == 3);
    }
  }

  TEST_CASE("a file that ends inside an event yields those before it") {
    const std::string text = "{\"traceEvents\": [" + EventLines(50);
    for (size_t cut = text.size() - EventLine(49).size(); cut < text.size(); cut += 7) {
      const auto run = ReadText(text.substr(0, cut));
      REQUIRE(run.ok());
      CHECK(SpansNamed(run.value(), "x").size() >= 49);
      CHECK(run.value().quality.cut_at.has_value());
    }
  }

  TEST_CASE("control characters and invalid UTF-8 do no harm") {
    for (const char* name : {"a\nb", "a\tb", "a\x01", "\xff\xfe"}) {
      const auto run =
          ReadText("[" + EventLines(5) + ",\n" + EventLine(7, name) + ",\n" + EventLine(8) + "]");
      REQUIRE(run.ok());
      CHECK(SpansNamed(run.value(), name).size() == 1);
      CHECK(SpansNamed(run.value(), "x").size() == 6);
      CHECK(run.value().quality.damaged_bytes == 0);
    }
  }

  TEST_CASE("a broken event costs only itself") {
    const char* broken[] = {R"({"ph":"X","name":"y" "ts":3})", R"({"ph":"X","name":"y","ts":3)",
                            R"("text")", R"({"ph":"X","args":{"a":[1,2},"ts":3})",
                            R"({"ph":"X","name":"say "hi"","ts":3})"};
    for (const char* text : broken) {
      CAPTURE(text);
      const auto run = ReadText("[" + EventLines(5) + ",\n" + text + ",\n" + EventLines(5) + "]");
      REQUIRE(run.ok());
      // At most the event behind it goes with it, where it is not clear where it begins.
      CHECK(SpansNamed(run.value(), "x").size() >= 9);
      CHECK(SpansNamed(run.value(), "y").empty());
      CHECK(run.value().quality.damaged_bytes > 0);
      CHECK_FALSE(run.value().quality.Complete());
    }
  }

  TEST_CASE("a broken event at the end of a window is skipped, too") {
    // Each may end behind "args": its window then has no other event behind this one.
    std::string broken = R"({"ph":"X" "name":"y","args":{},"ts":1)";
    for (int i = 0; i < 40; ++i) broken += ",\"k" + std::to_string(i) + "\":1";
    broken += "},\n";
    std::string text = "[" + EventLines(3) + ",\n";
    while (text.size() < 700'000) text += broken;
    const auto run = ReadText(text + EventLines(3) + "]");
    REQUIRE(run.ok());
    CHECK(SpansNamed(run.value(), "x").size() >= 5);
    CHECK(SpansNamed(run.value(), "y").empty());
    CHECK(run.value().quality.damaged_bytes > 690'000);
  }

  TEST_CASE("long files are read window by window, the same") {
    const std::string text = "{\"head\": [1,2], \"traceEvents\": [" + EventLines(20'000) +
                             "], \"stackFrames\": {\"1\": {\"name\": \"a\"}}}";
    REQUIRE(text.size() > 4 * stallscope::importers::ByteSource::kHeadBytes);
    const auto run = ReadText(text);
    REQUIRE(run.ok());
    CHECK(SpansNamed(run.value(), "x").size() == 20'000);
    CHECK(run.value().quality.warnings.empty());
    // With one bad byte in each window.
    std::string spoiled = text;
    for (size_t i = 100'000; i + 1000 < spoiled.size(); i += 100'000) {
      const size_t name = spoiled.find("\"x\"", i);
      spoiled[name + 1] = '\x02';
    }
    const auto tolerant = ReadText(spoiled);
    REQUIRE(tolerant.ok());
    CHECK(stallscope::model::CountSpans(tolerant.value()) == 20'000);
  }

  TEST_CASE("an event longer than a window is read") {
    const std::string text = "[" + EventLines(3) + ",\n" + EventLine(5, std::string(700'000, 'n')) +
                             "," + EventLine(9) + "]";
    const auto run = ReadText(text);
    REQUIRE(run.ok());
    CHECK(SpansNamed(run.value(), "x").size() == 4);
    CHECK(stallscope::model::CountSpans(run.value()) == 5);
  }

  TEST_CASE("a value may be 16 MiB long, but no longer") {
    const auto run =
        ReadText("[" + EventLines(3) + ",\n" + EventLine(5, std::string(17 << 20, 'n')) + "]");
    REQUIRE_FALSE(run.ok());
    CHECK(run.error().Line().find("longer than 16 MiB") != std::string::npos);
  }

  TEST_CASE("deep nesting is skipped, not followed") {
    const std::string deep(1'000'000, '[');
    CHECK_FALSE(ReadText(deep).ok());
    const auto run =
        ReadText("[" + EventLines(3) + R"(,{"ph":"X","args":{"a":)" + std::string(100, '[') +
                 std::string(100, ']') + R"(}},)" + EventLine(7) + "," + EventLine(8) + "]");
    REQUIRE(run.ok());
    CHECK(SpansNamed(run.value(), "x").size() >= 4);
  }

  TEST_CASE("invalid and overflowing timestamps are left out and counted") {
    const auto run = ReadText(R"([{"ph":"X","name":"a","ts":"soon","dur":1},
      {"ph":"X","name":"b","ts":99999999999999999999,"dur":1},
      {"ph":"X","name":"c","ts":4611686018427387,"dur":4611686018427387},
      {"ph":"X","name":"d","ts":1,"dur":-5},{"ph":"X","name":"e"},
      {"ph":"X","name":"f","ts":"12.5","dur":1}])");
    REQUIRE(run.ok());
    CHECK(Warned(run.value(), "2 events have an invalid timestamp"));
    CHECK(Warned(run.value(), "1 event has no time"));
    CHECK(Warned(run.value(), "1 event is more than 146 years away"));
    CHECK(Warned(run.value(), "1 event ends before it begins"));
    CHECK(SpansNamed(run.value(), "d").at(0).end_ns == 1'000);
    CHECK(SpansNamed(run.value(), "f").at(0).start_ns == 12'500);
  }

  TEST_CASE("whatever is left out of a file makes it incomplete") {
    const std::string event = EventLine(1);
    const auto complete = [](const std::string& text) {
      CAPTURE(text.substr(0, 200));
      const auto run = ReadText(text);
      REQUIRE(run.ok());
      // Who is told of it is told why.
      CHECK(run.value().quality.Complete() == run.value().quality.warnings.empty());
      return run.value().quality.Complete();
    };
    CHECK(complete("[" + event + "]"));
    CHECK_FALSE(complete("[" + event + R"(,{"ph":"X","name":"no time","dur":1}])"));
    CHECK_FALSE(complete("[" + event + R"(,{"ph":"X","ts":"soon","dur":1}])"));
    CHECK_FALSE(complete("[" + event + R"(,{"ph":"?","ts":1}])"));
    CHECK_FALSE(complete("[" + event + R"(,{"name":"no kind","ts":1}])"));
    CHECK_FALSE(complete("[" + event + R"(,{"ph":"C","ts":1,"name":"c","args":{"v":"x"}}])"));
    CHECK_FALSE(complete("[" + event + R"(,{"ph":"X","ts":5,"dur":-9}])"));
    CHECK_FALSE(complete("[" + event + "]" + "[" + event + "]"));
    CHECK_FALSE(complete("[" + event + "]\n" + std::string(300'000, ' ') + "{}"));
    CHECK_FALSE(complete(R"({"traceEvents":[)" + event + R"(],"other":{"a":1)"));
    CHECK_FALSE(complete(R"({"traceEvents":[)" + event + "]"));
    CHECK_FALSE(complete(R"({"deviceProperties":[nonsense],"traceEvents":[)" + event + "]}"));
    // What tools write, or what has nothing to show here.
    CHECK(complete("[" + event + ",{}]"));
    CHECK(complete("[" + event + R"(,{"ph":"i","ts":1},{"ph":"s","ts":1},{"ph":"P","ts":1}])"));
    CHECK(complete("[" + event + "]\n\n" + std::string(512, '\0')));
    CHECK(complete(R"({"traceEvents":[)" + event + R"(],"other":{"a":[1]}})"));
  }
}
