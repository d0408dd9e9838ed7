#include "replay/sweep/plan.h"

#include <doctest/doctest.h>

#include "replay/sweep/measured_gains.h"
#include "replay/sweep/sweep_json.h"
#include "replay/sweep/sweep_table.h"
#include "tests/replay/sweep/sweeps.h"

using namespace stallscope;
using replay::BestOf;
using replay::PlanCombination;
using replay::PlanVerification;
using replay::Sweep;

namespace {

report::FindingRow FindingWith(const std::string& id, std::optional<Patch> patch) {
  report::FindingRow finding;
  finding.id = id;
  finding.stage = "decode";
  if (patch.has_value()) {
    finding.recommendation.emplace();
    finding.recommendation->patch = *patch;
    finding.recommendation->gain = findings::Gain{1.5, 1.4, 1.6};
  }
  return finding;
}

const Patch kMoreWorkers{{SetTo("decode.parallelism", 4)}};
const Patch kPinned{{SetTo("transfer.pinned", true)}};
const Patch kLess{{SetTo("ready.buffer_size", 1)}};

report::Report ReportOf() {
  report::Report report;
  report.findings = {FindingWith("map-parallelism", kMoreWorkers),
                     FindingWith("note", {}),
                     FindingWith("empty", Patch{}),
                     FindingWith("again", kMoreWorkers),
                     FindingWith("pinned", kPinned),
                     FindingWith("buffer", kLess)};
  return report;
}

void Measure(replay::Point& point, double rate) {
  point.runs = {{{rate, rate, rate}, 40, 0, "here"}};
}

Sweep Verified(double workers, double pinned, double less) {
  Sweep sweep = test::PlannedGrid(replay::SweepMode::kRerun, 1);
  sweep.points.clear();
  sweep.base_point.reset();
  sweep.axes.clear();
  PlanVerification(ReportOf(), sweep);
  REQUIRE(sweep.points.size() == 3);
  Measure(sweep.base, 100);
  Measure(sweep.points[0], workers);
  Measure(sweep.points[1], pinned);
  Measure(sweep.points[2], less);
  return sweep;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("each recommendation with a patch is a point, once") {
    const Sweep sweep = Verified(1, 1, 1);
    CHECK(sweep.kind == replay::SweepKind::kVerify);
    CHECK(sweep.points[0].name == "map-parallelism in decode");
    CHECK(sweep.points[1].patch == kPinned);
  }

  TEST_CASE("the combination has everything that helped, and nothing else") {
    Sweep sweep = Verified(180, 120, 90);
    PlanCombination(test::SweepSpec(), nullptr, sweep);
    REQUIRE(sweep.points.size() == 4);
    CHECK(sweep.points[3].name == replay::kBestCombination);
    const auto spec = SpecOf(test::SweepSpec(), sweep.points[3]);
    REQUIRE(spec.ok());
    CHECK(test::DecodeWorkers(spec.value()) == 4);
    CHECK(spec.value().transfer.pinned);
    CHECK(sweep.points[3].patch->changes.size() == 2);
    // Once.
    PlanCombination(test::SweepSpec(), nullptr, sweep);
    CHECK(sweep.points.size() == 4);
  }

  TEST_CASE("fewer than two that help make no combination") {
    Sweep one = Verified(180, 100.5, 90);
    PlanCombination(test::SweepSpec(), nullptr, one);
    CHECK(one.points.size() == 3);
    Sweep none = Verified(90, 90, 90);
    PlanCombination(test::SweepSpec(), nullptr, none);
    CHECK(none.points.size() == 3);
  }

  TEST_CASE("two values of one setting are not combined: the better one stays") {
    Sweep sweep = Verified(180, 120, 90);
    sweep.points[2].patch = Patch{{SetTo("decode.parallelism", 8)}};
    sweep.points[2].runs.clear();
    Measure(sweep.points[2], 150);
    PlanCombination(test::SweepSpec(), nullptr, sweep);
    REQUIRE(sweep.points.size() == 4);
    CHECK(test::DecodeWorkers(SpecOf(test::SweepSpec(), sweep.points[3]).value()) == 4);
    CHECK(sweep.points[3].patch->changes.size() == 2);
  }

  TEST_CASE("measured gains go to the recommendations of the same patch") {
    report::Report report = ReportOf();
    report.findings[4].recommendation->gain.reset();
    replay::SetMeasuredGains({Verified(180, 120, 90)}, report);
    CHECK(report.findings[0].recommendation->measured->factor == doctest::Approx(1.8));
    CHECK(report.findings[0].recommendation->measured->runs == 1);
    CHECK(report.findings[0].recommendation->gain->predicted == 1.5);
    CHECK(report.findings[4].recommendation->measured->factor == doctest::Approx(1.2));
    CHECK_FALSE(report.findings[4].recommendation->gain.has_value());
    CHECK(report.findings[5].recommendation->measured->factor == doctest::Approx(0.9));
    Sweep failed = Verified(180, 120, 90);
    failed.points[0].error = "its batches are not those of the base";
    report::Report other = ReportOf();
    replay::SetMeasuredGains({failed}, other);
    CHECK_FALSE(other.findings[0].recommendation->measured.has_value());
  }

  TEST_CASE("combination: nothing that may change what is learned") {
    Sweep sweep = Verified(180, 120, 90);
    sweep.points[1].patch = Patch{{SetTo("batch.size", 8)}};
    PlanCombination(test::SweepSpec(), nullptr, sweep);
    CHECK(sweep.points.size() == 3);
  }

  TEST_CASE("combination: one store is enough") {
    Sweep sweep = Verified(186, 185, 90);
    for (size_t i = 0; i < 2; ++i) {
      const std::string name = i == 0 ? "first" : "second";
      StageSpec store{name, SnapshotSpec{name}};
      sweep.points[i].patch =
          Patch{{InsertChange{store, Place::After(i == 0 ? "read" : "decode")}}};
    }
    PlanCombination(test::SweepSpec(), nullptr, sweep);
    CHECK(sweep.points.size() == 3);
  }

  TEST_CASE("best: the smallest patch among those that are as fast, and that learn the same") {
    const Spec spec = test::SweepSpec();
    Sweep sweep = Verified(185, 120, 90);
    PlanCombination(spec, nullptr, sweep);
    REQUIRE(sweep.points.size() == 4);
    Measure(sweep.points[3], 186);
    CHECK(BestOf(spec, sweep) == size_t{0});
    Measure(sweep.points[3], 210);
    CHECK(BestOf(spec, sweep) == size_t{3});
    sweep.points[0].patch = Patch{{SetTo("batch.size", 8)}};
    Measure(sweep.points[0], 400);
    CHECK(BestOf(spec, sweep) == size_t{3});
    CHECK_FALSE(BestOf(spec, Verified(90, 90, 90)).has_value());
    const report::SweepTable table = replay::TableOf(sweep);
    REQUIRE(table.rows.size() == 5);
    CHECK(table.rows[1].note.find("may change what is learned") != std::string::npos);
    CHECK(table.rows[4].note.find("as fast as the fastest") != std::string::npos);
    CHECK(replay::WriteSweep(sweep).find("\"best\": 3") != std::string::npos);
  }

  TEST_CASE("a measured gain has the interval of both sides") {
    Sweep sweep = Verified(180, 120, 90);
    sweep.base.runs = {{{100, 97, 103}, 40, 0, "here"}};
    sweep.points[0].runs = {{{180, 172.8, 187.2}, 40, 0, "here"}};
    report::Report report = ReportOf();
    replay::SetMeasuredGains({sweep}, report);
    const auto& measured = *report.findings[0].recommendation->measured;
    // 3% and 4%, independent of each other: 5%.
    CHECK(measured.low == doctest::Approx(1.8 * 0.95));
    CHECK(measured.high == doctest::Approx(1.8 * 1.05));
    CHECK(measured.disturbed.empty());
  }

  TEST_CASE("a change measured twice keeps both measurements") {
    report::Report report = ReportOf();
    replay::SetMeasuredGains({Verified(108, 120, 90), Verified(164, 121, 90)}, report);
    const auto& measured = *report.findings[0].recommendation->measured;
    CHECK(measured.factor == doctest::Approx(1.36));
    CHECK(measured.runs == 2);
    CHECK(measured.low <= 1.08);
    CHECK(measured.high >= 1.64);
    CHECK(measured.disturbed == "separate replays found 1.08x, 1.64x");
    // Two that agree are one, measured more often.
    CHECK(report.findings[4].recommendation->measured->runs == 2);
    CHECK(report.findings[4].recommendation->measured->disturbed.empty());
  }

  TEST_CASE("a disturbed measurement is marked") {
    Sweep sweep = Verified(180, 120, 90);
    sweep.points[0].runs.push_back({{140, 138, 142}, 40, 0, "here"});
    sweep.points[1].verdict = "input-bound: decode (cpu contention)";
    report::Report report = ReportOf();
    replay::SetMeasuredGains({sweep}, report);
    CHECK(report.findings[0].recommendation->measured->disturbed == "its runs differ by 28.6%");
    CHECK(report.findings[4].recommendation->measured->disturbed == "its threads lacked cores");
    CHECK(report.findings[5].recommendation->measured->disturbed.empty());
    sweep.points[2].runs.front().others = 0.15;
    replay::SetMeasuredGains({sweep}, report);
    CHECK(report.findings[5].recommendation->measured->disturbed ==
          "other programs had 15.0% of the cores in its runs");
    const auto says = [&](std::string_view what) {
      const auto warnings = replay::TableOf(sweep).warnings;
      return std::any_of(warnings.begin(), warnings.end(), [&](const std::string& warning) {
        return warning.find(what) != std::string::npos;
      });
    };
    CHECK(says("other programs or virtual machines had up to 15.0% of the cores in 1 of"));
    sweep.points[2].runs.front().others = 0.05;
    CHECK_FALSE(says("other programs"));
    replay::SetMeasuredGains({sweep}, report);
    CHECK(report.findings[5].recommendation->measured->disturbed.empty());
    sweep.base.runs.push_back({{125, 124, 126}, 40, 0, "here"});
    replay::SetMeasuredGains({sweep}, report);
    CHECK(report.findings[5].recommendation->measured->disturbed ==
          "the base's runs differ by 25.0%");
  }
}
