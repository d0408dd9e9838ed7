#include "analyzer/base/result.h"

#include <doctest/doctest.h>

#include <memory>

using stallscope::Error;
using stallscope::ErrorKind;
using stallscope::Result;
using stallscope::Status;

namespace {

Result<int> Half(int n) {
  if (n % 2 != 0) return Error{ErrorKind::kUsage, "odd", "n", ""};
  return n / 2;
}

Result<int> Quarter(int n) {
  STALLSCOPE_ASSIGN_OR_RETURN(const int half, Half(n));
  return Half(half);
}

Status IsEven(int n) {
  STALLSCOPE_RETURN_IF_ERROR(Half(n));
  return {};
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a result is a value or an error, and errors pass through the macros") {
    CHECK(Quarter(8).value() == 2);
    CHECK(Quarter(6).error().what == "odd");
    CHECK(IsEven(2).ok());
    CHECK_FALSE(IsEven(3).ok());
  }

  TEST_CASE("a result may hold a move-only value") {
    Result<std::unique_ptr<int>> made = std::make_unique<int>(7);
    std::unique_ptr<int> taken = std::move(made).value();
    CHECK(*taken == 7);
  }

  TEST_CASE("an error is one line whatever its parts contain") {
    const Error error{ErrorKind::kInput, "bad\nname", "a\r.sst", "rename\x1b it"};
    CHECK(error.Line() == "a .sst: bad name; rename? it");
    CHECK(Error{ErrorKind::kInput, "bad", "", ""}.Line() == "bad");
    CHECK(Error{ErrorKind::kInput, "größe a=b", "x.sst", ""}.Line() == "x.sst: größe a=b");
    // U+009B alone begins a terminal's command, U+202E turns what follows around.
    const Error steering{ErrorKind::kInput, "\u009b2J", "\u202etss.a", "\xff"};
    CHECK(steering.Line() == "?tss.a: ?2J; \ufffd");
  }
}
