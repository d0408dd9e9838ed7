#include "analyzer/export/text_sink.h"

#include <doctest/doctest.h>

#include <limits>

using stallscope::Error;
using stallscope::ErrorKind;
using stallscope::Status;
using stallscope::exporting::Sink;
using stallscope::exporting::TextSink;

namespace {

template <class Write>
std::string Written(Write&& write) {
  std::string text;
  const Sink sink = [&](std::string_view piece) -> Status {
    text += piece;
    return {};
  };
  TextSink to(sink);
  write(to);
  CHECK(to.Flush().ok());
  return text;
}

std::string Micros(int64_t ns) {
  return Written([&](TextSink& to) { to.AddMicros(ns); });
}
std::string Quoted(std::string_view text) {
  return Written([&](TextSink& to) { to.AddJsonString(text); });
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("nanoseconds become exact decimals of microseconds") {
    CHECK(Micros(0) == "0.000");
    CHECK(Micros(1) == "0.001");
    CHECK(Micros(999) == "0.999");
    CHECK(Micros(1'000) == "1.000");
    CHECK(Micros(1'234'567) == "1234.567");
    CHECK(Micros(-1) == "-0.001");
    CHECK(Micros(-1'500) == "-1.500");
    // Past 2^53: a double would lose the last digits.
    CHECK(Micros(1'700'000'000'123'456'789) == "1700000000123456.789");
    CHECK(Micros(std::numeric_limits<int64_t>::min()) == "-9223372036854775.808");
  }

  TEST_CASE("texts are escaped as their form has it") {
    CHECK(Quoted("a\"b\\c\x1b") == "\"a\\\"b\\\\c\\u001b\"");
    CHECK(Written([](TextSink& to) { to.AddCsvField("=a,b"); }) == "\"'=a,b\"");
  }

  TEST_CASE("doubles read back the same, NaN and infinities are not written") {
    CHECK(Written([](TextSink& to) { CHECK(to.AddDouble(0.1)); }) == "0.1");
    CHECK(Written([](TextSink& to) { CHECK(to.AddDouble(1e300)); }) == "1e+300");
    CHECK(Written([](TextSink& to) {
            CHECK_FALSE(to.AddDouble(std::numeric_limits<double>::infinity()));
          }) == "");
  }

  TEST_CASE("text is passed on in pieces, and the sink's error is returned") {
    size_t pieces = 0;
    size_t largest = 0;
    const Sink sink = [&](std::string_view piece) -> Status {
      largest = std::max(largest, piece.size());
      if (++pieces == 3) return Error{ErrorKind::kRun, "full", "", ""};
      return {};
    };
    TextSink to(sink);
    Status status;
    int records = 0;
    while (status.ok()) {
      to.Add(std::string(1000, 'x'));
      status = to.Breathe();
      ++records;
    }
    CHECK(status.error().what == "full");
    CHECK(records == 3 * 66);
    CHECK(largest < 70'000);
  }
}
