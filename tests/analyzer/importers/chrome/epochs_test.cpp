// A DataLoader's workers from epoch to epoch, with the figures of recordings of PyTorch 2.15: three
// epochs of 30 batches, two workers.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "tests/analyzer/importers/chrome/trace_text.h"
#include "tests/analyzer/importers/judged.h"

using namespace stallscope;  // NOLINT(google-build-using-namespace)
using test::Judge;
using test::Judged;
using test::ReadText;

namespace {

// In microseconds: the fetch that finds an epoch's end, what lies between, the next one's first.
struct Boundary {
  int end;
  int between;
  int first;
};
constexpr Boundary kForked{35'000, 40'500, 39'000};
constexpr Boundary kSpawned{645'000, 17'700, 3'789'000};
constexpr Boundary kKept{18, 1'750, 26'700};

// `fetch`: what the others take; of a loader that keeps up little.
std::string Text(const Boundary& boundary, int fetch = 300) {
  std::string events;
  int64_t at = 1'000;
  const auto add = [&](const std::string& category, const std::string& name, int dur) {
    events +=
        fmt::format(R"({}{{"ph":"X","cat":"{}","name":"{}","pid":1,"tid":1,"ts":{},"dur":{}}})",
                    events.empty() ? "" : ",", category, name, at, dur);
    at += dur;
  };
  const std::string next = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";
  for (int batch = 0; batch < 90; ++batch) {
    const bool begins = batch > 0 && batch % 30 == 0;
    if (begins) {
      add("user_annotation", next, boundary.end);
      // The seeds and the order of the next epoch.
      for (int i = 0; i < 16; ++i) add("cpu_op", "aten::random_", boundary.between / 16);
    }
    add("user_annotation", next, begins ? boundary.first : fetch);
    for (int i = 0; i < 100; ++i) add("cpu_op", "aten::addmm", 150);
  }
  return R"({"schemaVersion":1,"traceEvents":[)" + events + "]}";
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("workers that restart every epoch get the advice to persist") {
    for (const Boundary& boundary : {kForked, kSpawned}) {
      const Judged judged = Judge(ReadText(Text(boundary)));
      const findings::Finding* const finding = judged.FindingOf("persistent-workers");
      REQUIRE(finding != nullptr);
      CHECK(finding->evidence.at(0).text.find("2 restarts, the longest") != std::string::npos);
      REQUIRE(finding->recommendation.has_value());
      CHECK(finding->recommendation->code.pytorch.find("persistent_workers=True") !=
            std::string::npos);
      CHECK_FALSE(finding->recommendation->gain.has_value());
      // Its waits are the restarts': more workers would end and begin as slowly.
      CHECK(judged.FindingOf("loader-workers") == nullptr);
    }
  }

  TEST_CASE("persistent workers do not, even if each epoch begins with a long wait") {
    CHECK(Judge(ReadText(Text(kKept))).FindingOf("persistent-workers") == nullptr);
  }

  TEST_CASE("nor do those of a loader whose every fetch takes that long") {
    const Judged slow = Judge(ReadText(Text(kForked, 30'000)));
    CHECK(slow.FindingOf("persistent-workers") == nullptr);
    CHECK(slow.FindingOf("loader-workers") != nullptr);
  }
}
