#include "collectors/job/job_digest.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace stallscope;
using namespace stallscope::job;

namespace {

LoaderDigest Of(const std::string& place, uint64_t steps, char digit) {
  LoaderDigest digest;
  digest.place = place;
  digest.hash = std::string(32, digit);
  digest.batches = 10;
  digest.steps = steps;
  digest.hashing_ns = 20'000'000;
  return digest;
}

trace::RunInfo RunOf(const std::vector<LoaderDigest>& digests) {
  trace::RunInfo run;
  SetDigest(digests, run);
  return run;
}

bool Says(const trace::RunInfo& run, const std::string& words) {
  return std::any_of(run.limits.begin(), run.limits.end(), [&](const std::string& limit) {
    return limit.find(words) != std::string::npos;
  });
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a run's digest is that of the loader that fed most steps") {
    const auto run = RunOf({Of("a.py:1", 3, '1'), Of("b.py:1", 4, '2'), Of("c.py:1", 0, '3')});
    CHECK(run.digest == std::string(32, '2'));
    REQUIRE(run.limits.size() == 1);
    CHECK(
        Says(run, "breakdown.compute: holds the time that --digest takes to hash a batch, 2.000"));
  }

  TEST_CASE("the ranks' digests are added up, in any order") {
    const auto one = RunOf({Of("a.py:1", 3, '1'), Of("a.py:1", 3, 'f')});
    CHECK(one.digest == "11111111111111111111111111111110");
    CHECK(one == RunOf({Of("a.py:1", 3, 'f'), Of("a.py:1", 3, '1')}));
  }

  TEST_CASE("what a digest is not of is said") {
    LoaderDigest digest = Of("a.py:1", 3, '1');
    digest.missing = {"objects of class x.Y"};
    digest.ordered = false;
    const auto run = RunOf({digest, digest});
    CHECK(Says(run, "run.digest: not hashed: objects of class x.Y"));
    CHECK(Says(run, "run.digest: in_order is off"));
    CHECK(run.limits.size() == 3);
  }

  TEST_CASE("a job without digests has none, and the trace says so") {
    CHECK(Says(RunOf({}), "run.digest: no batch was hashed"));
    LoaderDigest coarse = Of("a.py:1", 3, '1');
    coarse.batches = 0;
    coarse.missing = {"the batches of this version of torch"};
    const auto run = RunOf({coarse});
    CHECK(run.digest.empty());
    CHECK(Says(run, "the batches of this version"));
  }

  TEST_CASE("a digest is 32 digits") {
    CHECK(IsDigest(std::string(32, 'a')));
    CHECK_FALSE(IsDigest(std::string(31, 'a')));
    CHECK_FALSE(IsDigest(std::string(32, 'A')));
    CHECK_FALSE(IsDigest(std::string(33, '0')));
  }
}
