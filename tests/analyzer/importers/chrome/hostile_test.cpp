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

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("200,000 iterators of different names are read in one go") {
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
}
