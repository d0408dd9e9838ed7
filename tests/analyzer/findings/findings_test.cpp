#include "analyzer/findings/findings.h"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "tests/analyzer/findings/case_builder.h"
#include "tests/analyzer/findings/scenarios.h"

using stallscope::findings::Aim;
using stallscope::findings::Finding;
using stallscope::findings::Gain;
using stallscope::findings::Recommendation;
using stallscope::findings::Settled;
using stallscope::findings::WorthShowing;

namespace {

Recommendation Of(double predicted, double low, double high) {
  Recommendation recommendation;
  recommendation.gain = Gain{predicted, low, high};
  return recommendation;
}

// With a gain of 0 it has no price.
Finding Proposal(const std::string& id, bool on_bound, double gain, double share) {
  Finding finding;
  finding.id = id;
  finding.on_bound = on_bound;
  finding.share = share;
  finding.recommendation.emplace();
  if (gain > 0) finding.recommendation->gain = Gain{gain, gain - 0.01, gain + 0.01};
  return finding;
}

std::string OrderOf(const std::vector<Finding>& findings) {
  std::string ids;
  for (const Finding& finding : findings) ids += (ids.empty() ? "" : " ") + finding.id;
  return ids;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("findings follow the verdict, then the gain, then the share") {
    CHECK(
        OrderOf(Settled({Proposal("graph", false, 1.12, 0.12), Proposal("batch", false, 1.08, 0.12),
                         Proposal("pinned", false, 0, 0.3), Proposal("loader", true, 0, 0.23),
                         Proposal("prefetch", true, 1.2, 0.1), Proposal("restarts", true, 0, 0.05)},
                        100, {})) == "prefetch loader restarts graph batch pinned");
  }

  TEST_CASE("what the law would drop, a simulation may find to gain") {
    size_t found_by_law = 0;
    size_t found = 0;
    const auto gains = [](Recommendation& recommendation) {
      recommendation.gain = Gain{3, 2.9, 3.1};
    };
    const auto loses = [](Recommendation& recommendation) {
      recommendation.gain = Gain{0.5, 0.4, 0.6};
    };
    for (const stallscope::test::Scenario& scenario : stallscope::test::AllScenarios()) {
      stallscope::test::CaseBuilder builder;
      scenario.fires(builder);
      scenario.near_miss(builder);
      found_by_law += builder.Find().size();
      found += builder.Find(true, gains).size();
      for (const Finding& finding : builder.Find(true, loses)) {
        CHECK((!finding.recommendation || !finding.recommendation->gain ||
               finding.recommendation->gain->predicted != 0.5));
      }
    }
    CHECK(found > found_by_law);
  }

  TEST_CASE("without a price, the stage that the verdict names comes first") {
    Finding named = Proposal("map", true, 0, 0.75);
    named.on_stage = true;
    CHECK(OrderOf(Settled({Proposal("prefetch", true, 0, 0.78), named}, 100, {})) ==
          "map prefetch");
    CHECK(OrderOf(Settled({Proposal("prefetch", true, 1.2, 0.78), named}, 100, {})) ==
          "prefetch map");
  }

  TEST_CASE("last resort: only where nothing else is recommended against the bound") {
    Finding last = Proposal("last", true, 0, 0.9);
    last.recommendation.reset();
    last.last_resort = true;
    Finding words = Proposal("words", true, 0, 0.9);
    words.recommendation.reset();
    CHECK(OrderOf(Settled({last, Proposal("off", false, 1.2, 0.1)}, 100, {})) == "last off");
    CHECK(OrderOf(Settled({words, last}, 100, {})) == "words last");
    CHECK(OrderOf(Settled({last, Proposal("on", true, 0, 0.1)}, 100, {})) == "on");
    // What is left is what counts, not what was proposed.
    const auto no_gain = [](Recommendation& r) { r.gain = Gain{1.0, 0.9, 1.1}; };
    Finding dropped = Proposal("dropped", true, 1.3, 0.9);
    dropped.recommendation->patch.changes.emplace_back(stallscope::SetTo("a.b", int64_t{1}));
    CHECK(OrderOf(Settled({last, dropped}, 100, no_gain)) == "last");
    // A price that cannot know does not count.
    dropped.recommendation->only_measured = true;
    CHECK(OrderOf(Settled({last, dropped}, 100, no_gain)) == "dropped");
  }

  TEST_CASE("speed-up is shown only if its gain is certain") {
    Recommendation sure = Of(1.3, 1.1, 1.5);
    CHECK(WorthShowing(sure, true, 20));
    CHECK(sure.gain.has_value());
    Recommendation printed_as_none = Of(1.08, 1.003, 1.2);
    CHECK_FALSE(WorthShowing(printed_as_none, true, 20));
    Recommendation none = Of(1.05, 0.95, 1.15);
    CHECK_FALSE(WorthShowing(none, true, 20));
    Recommendation slower = Of(0.8, 0.7, 0.9);
    CHECK_FALSE(WorthShowing(slower, true, 20));
    Recommendation memory = Of(0.99, 0.9, 1.1);
    memory.aim = Aim::kMemory;
    CHECK(WorthShowing(memory, true, 20));
    CHECK(memory.gain.has_value());
  }

  TEST_CASE("a change that costs nothing stays, last, whatever it gains, unless it loses") {
    Recommendation noise = Of(1.01, 0.93, 1.1);
    noise.costs_nothing = true;
    CHECK(WorthShowing(noise, true, 1'000));
    CHECK(noise.gain.has_value());
    Recommendation slower = Of(0.95, 0.9, 1.1);
    slower.costs_nothing = true;
    CHECK_FALSE(WorthShowing(slower, true, 1'000));

    const auto nothing = [](Recommendation& r) {
      if (r.costs_nothing) r.gain = Gain{1.01, 0.93, 1.1};
    };
    Finding free = Proposal("free", true, 1.3, 0.9);
    free.recommendation->costs_nothing = true;
    free.recommendation->patch.changes.emplace_back(stallscope::SetTo("a.b", int64_t{1}));
    CHECK(OrderOf(Settled({free, Proposal("unpriced", false, 0, 0.1)}, 100, nothing)) ==
          "unpriced free");
    // It is no answer to what bounds the run.
    Finding last = Proposal("last", true, 0, 0.9);
    last.recommendation.reset();
    last.last_resort = true;
    CHECK(OrderOf(Settled({last, free}, 100, nothing)) == "last free");
    CHECK(OrderOf(Settled({last, free}, 100, {})) == "free");
  }

  TEST_CASE("large but uncertain gain of a short run: shown without a figure") {
    Recommendation open = Of(2.8, 0.9, 4.1);
    CHECK(WorthShowing(open, true, 19));
    CHECK_FALSE(open.gain.has_value());
    CHECK(open.unpriced.find("19 steps") != std::string::npos);
    CHECK(open.unpriced.find("record") != std::string::npos);
    Recommendation scattered = Of(2.8, -0.6, 4.1);
    CHECK(WorthShowing(scattered, true, 3));
    CHECK(scattered.unpriced.find("from 0.00 to 4.10") != std::string::npos);
    // A long run has told; little is at stake; the gain is small anyhow.
    Recommendation told = Of(2.8, 0.9, 4.1);
    CHECK_FALSE(WorthShowing(told, true, 1'000));
    CHECK_FALSE(WorthShowing(told, false, 19));
    Recommendation small = Of(1.06, 0.9, 4.1);
    CHECK_FALSE(WorthShowing(small, true, 19));
  }

  TEST_CASE("advice on a job without steps names the flag of Python that kept them out") {
    stallscope::test::CaseBuilder builder;
    builder.with_spec = false;
    builder.verdict.bound = stallscope::findings::Bound::kInconclusive;
    builder.run.rows.steps.clear();
    const auto says = [&](std::string_view text) {
      const auto finding = builder.FindingOf("inconclusive");
      REQUIRE(finding.has_value());
      return finding->text.find(text) != std::string::npos;
    };
    CHECK(says("record it with the training step marked"));
    builder.run.info.job.command = {"torchrun", "-I", "train.py"};
    CHECK(says("mark each with stallscope.step()"));
    builder.run.processes.resize(1);
    builder.run.processes[0].arguments = {"python", "-I", "train.py"};
    CHECK(says("Python's -I keeps the recorder out: start it without"));
    builder.run.processes[0].arguments = {"bash", "python", "-I", "train.py"};
    CHECK(says("mark each with stallscope.step()"));
    builder.run.info.job.command = {"python", "-I", "train.py"};
    CHECK(says("Python's -I keeps the recorder out: start it without"));
    builder.run.info.job.python = "3.13.0";  // another of its processes was seen
    CHECK(says("mark each with stallscope.step()"));
  }
}
