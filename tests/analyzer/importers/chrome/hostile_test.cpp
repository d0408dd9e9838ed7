// Files of some MiB that would keep a careless reader busy for minutes.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "analyzer/trace/limits.h"
#include "tests/analyzer/importers/chrome/trace_text.h"

using stallscope::test::ReadText;
using stallscope::test::Warned;
using namespace stallscope;

namespace {

std::string Named(const std::string& process, const std::string& thread) {
  return fmt::format(R"({{"ph":"M","name":"process_name","pid":1,"tid":7,"args":{{"name":"{}"}}}},)"
                     R"({{"ph":"M","name":"thread_name","pid":1,"tid":7,"args":{{"name":"{}"}}}})",
                     process, thread);
}

constexpr size_t kLongText = 8'000'000;

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("200,000 iterators with different names take linear time") {
    std::string text = "[" + Named("/host:CPU", "python");
    for (int i = 0; i < 200'000; ++i) {
      text += fmt::format(
          R"(,{{"ph":"X","pid":1,"tid":7,"ts":{},"dur":1,"name":"Iterator::Root::Map{}"}})", i, i);
    }
    const auto read = ReadText(text + "]");
    REQUIRE(read.ok());
    CHECK(read.value().stages.size() == trace::kMaxStages);
    CHECK(Warned(read.value(), "stages past 4,096 were left out"));
  }

  TEST_CASE("a stream's long name is not copied for each of its kernels") {
    std::string text = "[" + Named("/device:GPU:0", "Stream #" + std::string(kLongText, 'x'));
    for (int i = 0; i < 20'000; ++i) {
      text += fmt::format(R"(,{{"ph":"X","pid":1,"tid":7,"ts":{},"dur":1,"name":"gemm"}})", i);
    }
    const auto read = ReadText(text + "]");
    REQUIRE(read.ok());
    CHECK(read.value().rows.kernels.size() == 20'000);
    CHECK(read.value().tracks[0].info.name.size() <= trace::kMaxNameBytes);
  }

  TEST_CASE("a counter's long name is not copied for each of its series") {
    std::string series;
    for (int i = 0; i < 20'000; ++i) series += fmt::format(R"({}"s{}":1)", i == 0 ? "" : ",", i);
    const auto read = ReadText(R"([{"ph":"C","pid":1,"ts":1,"name":")" +
                               std::string(kLongText, 'x') + R"(","args":{)" + series + "}}]");
    REQUIRE(read.ok());
    CHECK(read.value().counters.size() == trace::kMaxCounters);
    CHECK(read.value().rows.samples.size() == 20'000);
  }
}
