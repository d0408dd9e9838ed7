#include "analyzer/words/progress.h"

#include <doctest/doctest.h>

using stallscope::words::Progress;
using stallscope::words::ProgressText;

TEST_SUITE("fast") {
  TEST_CASE("progress: no rate before anything is done") {
    CHECK(ProgressText({"runs", 8, false, 0, 0, 42}) == "0 of 8 runs");
    CHECK(ProgressText({"images counted", 0, false, 0, 0, 42}) == "0 images counted");
  }

  TEST_CASE("progress: a slow rate is a time for each") {
    CHECK(ProgressText({"images", 1000, false, 640, 5, 0}) ==
          "640 of 1000 images, 128/s, 3 s left");
    CHECK(ProgressText({"images counted", 0, false, 640, 5, 0}) == "640 images counted, 128/s");
    CHECK(ProgressText({"runs", 8, false, 3, 90, 0}) == "3 of 8 runs, 30.0 s each, 2:30 min left");
    CHECK(ProgressText({"runs", 3, false, 2, 2.2, 0}) == "2 of 3 runs, 1.10 s each, 1 s left");
  }

  TEST_CASE("progress: the time left counts down while one is at work") {
    Progress at{"runs", 4, false, 3, 90, 0};
    CHECK(ProgressText(at).ends_with(", 30 s left"));
    at.waited = 10;
    CHECK(ProgressText(at) == "3 of 4 runs, 30.0 s each, 20 s left");
    at.waited = 29.4;
    CHECK(ProgressText(at).ends_with(", 1 s left"));
    at.waited = 35;
    CHECK(ProgressText(at) == "3 of 4 runs, 30.0 s each");
  }

  TEST_CASE("progress: no time left where it would be a guess") {
    CHECK(ProgressText({"runs", 10, true, 3, 90, 0}) == "3 of at most 10 runs, 30.0 s each");
    CHECK(ProgressText({"runs", 10, true, 0, 0, 5}) == "0 of at most 10 runs");
    // One that takes far longer than those before it; a pause of moments is nothing.
    CHECK(ProgressText({"runs", 100, false, 3, 90, 61}) == "3 of 100 runs, 30.0 s each");
    CHECK(ProgressText({"images", 1000, false, 640, 5, 1}).ends_with("128/s, 2 s left"));
    CHECK(ProgressText({"images", 100000, false, 640, 5, 6}) == "640 of 100000 images, 128/s");
    CHECK(ProgressText({"runs", 4, false, 4, 120, 0}) == "4 of 4 runs, 30.0 s each");
    CHECK(ProgressText({"runs", 4, false, 5, 150, 0}) == "5 of 4 runs, 30.0 s each");
  }
}
