#include "replay/sweep/kept_runs.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/replay/sweep/sweeps.h"
#include "tests/support/paths.h"

using namespace stallscope;
using replay::KeptRuns;

namespace {

// Writes a real trace to the given path, as a run does.
class KeepingBench final : public replay::Bench {
 public:
  Result<replay::Outcome> Measure(const Spec&, const replay::RunWish& wish) override {
    ++runs;
    replay::Outcome outcome;
    if (fail) {
      outcome.failed = Error{ErrorKind::kRun, "it fell over", "", ""};
      return outcome;
    }
    std::filesystem::copy_file(test::SourceDir() + "/sample_traces/input_decode.sst", wish.keep);
    return outcome;
  }
  int runs = 0;
  bool fail = false;
};

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a run that is kept is not made again, and its figures are those of its trace") {
    const test::ScratchDir dir;
    const Spec spec = test::JobSpecOfTest();
    Spec other = spec;
    other.job.threads = 1;
    KeepingBench bench;
    {
      KeptRuns kept(dir.path(), "a", bench);
      for (int i = 0; i < 2; ++i) REQUIRE(kept.Measure(spec, {}).ok());
      REQUIRE(kept.Measure(other, {}).ok());
      CHECK(kept.found() == 0);
    }
    CHECK(bench.runs == 3);
    KeptRuns kept(dir.path(), "a", bench);
    const auto again = kept.Measure(spec, {});
    REQUIRE(again.ok());
    CHECK(again.value().figure.rate.samples_per_s > 0);
    CHECK_FALSE(again.value().verdict.empty());
    REQUIRE(kept.Measure(other, {}).ok());
    REQUIRE(kept.Measure(spec, {}).ok());
    CHECK(bench.runs == 3);
    CHECK(kept.found() == 3);
    // A third run of it, another subject, other cores.
    REQUIRE(kept.Measure(spec, {}).ok());
    replay::RunWish one_core;
    one_core.cores = 1;
    REQUIRE(kept.Measure(spec, one_core).ok());
    KeptRuns of_another(dir.path(), "b", bench);
    REQUIRE(of_another.Measure(spec, {}).ok());
    CHECK(bench.runs == 6);
  }

  TEST_CASE("what is no run is made again, and a run that fails is not kept") {
    const test::ScratchDir dir;
    KeepingBench bench;
    REQUIRE(KeptRuns(dir.path(), "", bench).Measure(test::JobSpecOfTest(), {}).ok());
    const std::string path = std::filesystem::directory_iterator(dir.path())->path().string();
    std::ofstream(path) << "no trace";
    bench.fail = true;
    const auto failed = KeptRuns(dir.path(), "", bench).Measure(test::JobSpecOfTest(), {});
    REQUIRE(failed.ok());
    CHECK(failed.value().failed.has_value());
    CHECK(bench.runs == 2);
  }
}
