#include "analyzer/attribution/category.h"

#include <doctest/doctest.h>

#include <set>

using namespace stallscope::attribution;

TEST_SUITE("fast") {
  TEST_CASE("words of categories and causes") {
    CHECK(WordFor(Category::kCompute) == "compute");
    CHECK(WordFor(Category::kCommunication) == "communication");
    CHECK(WordFor(Category::kTransfer) == "transfer");
    CHECK(WordFor(Category::kLaunch) == "launch");
    CHECK(WordFor(Category::kInputStall) == "input_stall");
    CHECK(WordFor(Category::kSync) == "sync");
    CHECK(WordFor(Category::kOther) == "other");
    CHECK(WordFor(Cause::kIo) == "io");
    CHECK(WordFor(Cause::kLock) == "lock");
    CHECK(WordFor(Cause::kBlocked) == "blocked");
    CHECK(WordFor(Cause::kCpuContention) == "cpu_contention");
    CHECK(WordFor(Cause::kOrder) == "order");
    CHECK(WordFor(Cause::kCpu) == "cpu");
    CHECK(WordFor(Cause::kSerial) == "serial");
    CHECK(WordFor(Cause::kBuffer) == "buffer");
    CHECK(WordFor(Cause::kUnknown) == "unknown");
  }

  TEST_CASE("reports list each category once") {
    const std::set<Category> listed(kReportOrder.begin(), kReportOrder.end());
    CHECK(listed.size() == kCategories);
  }
}
