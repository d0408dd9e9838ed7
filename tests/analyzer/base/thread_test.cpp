#include "analyzer/base/thread.h"

#include <doctest/doctest.h>

#include <atomic>
#include <new>
#include <optional>
#include <stdexcept>
#include <vector>

using namespace stallscope;  // NOLINT(google-build-using-namespace)

namespace {

std::optional<Error> ErrorOfThread(const std::function<void()>& body) {
  std::optional<Error> told;
  auto thread = StartThread(body, [&](Error error) { told = std::move(error); });
  REQUIRE(thread.ok());
  thread.value().join();
  return told;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a thread that cannot start is an error that says what to do") {
    const ThreadStartFault fault(2);
    auto first = StartThread([] {}, [](const Error&) {});
    REQUIRE(first.ok());
    first.value().join();
    bool ran = false;
    const auto second = StartThread([&] { ran = true; }, [](const Error&) {});
    REQUIRE_FALSE(second.ok());
    CHECK(second.error().kind == ErrorKind::kRun);
    CHECK(second.error().Line().find("cannot start another thread") != std::string::npos);
    CHECK(second.error().hint.find("ulimit -u") != std::string::npos);
    CHECK_FALSE(ran);
    CHECK(fault.starts() == 2);
  }

  TEST_CASE("an exception in a thread is its owner's error") {
    const auto memory = ErrorOfThread([] { throw std::bad_alloc(); });
    REQUIRE(memory.has_value());
    CHECK(memory->kind == ErrorKind::kRun);
    CHECK(memory->what == "out of memory");
    CHECK(memory->hint.find("batch size") != std::string::npos);
    const auto length = ErrorOfThread([] { std::vector<int>().reserve(SIZE_MAX / 2); });
    REQUIRE(length.has_value());
    CHECK(length->what == "out of memory");
    const auto other = ErrorOfThread([] { throw std::runtime_error("the map has a hole"); });
    REQUIRE(other.has_value());
    CHECK(other->what == "the map has a hole");
    const auto odd = ErrorOfThread([] { throw 1; });
    REQUIRE(odd.has_value());
    CHECK_FALSE(ErrorOfThread([] {}).has_value());
  }

  TEST_CASE("all pieces are done with any number of threads") {
    for (const uint64_t nth : {0U, 1U, 2U, 3U}) {
      const ThreadStartFault fault(nth);
      std::vector<std::atomic<int>> done(100);
      ForEachParallel(done.size(), 4, [&](size_t i) { ++done[i]; });
      for (const auto& count : done) CHECK(count == 1);
      CHECK(fault.starts() == (nth == 0 ? 3 : nth));
    }
    ForEachParallel(0, 4, [](size_t) { FAIL("there is no piece"); });
  }

  TEST_CASE("an exception in a piece leaves the call after the other threads have ended") {
    std::atomic<int> inside{0};
    const auto run = [&] {
      ForEachParallel(64, 4, [&](size_t i) {
        ++inside;
        if (i == 7) {
          --inside;
          throw std::bad_alloc();
        }
        --inside;
      });
    };
    CHECK_THROWS_AS(run(), std::bad_alloc);
    CHECK(inside == 0);
  }
}
