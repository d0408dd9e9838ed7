// Records each planted mistake: the report has the finding, and that of the near miss does not. The
// predicted and measured gains are printed, also of changes for memory or quality, and never fail a
// test.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <optional>

#include "analyzer/attribution/attribution.h"
#include "analyzer/model/loader.h"
#include "analyzer/spec/patch.h"
#include "collectors/capture/capture.h"
#include "replay/whatif/price.h"
#include "tests/checklist/planted.h"
#include "tests/support/paths.h"

namespace {

using namespace stallscope;
using findings::Finding;
using test::Planted;

struct Recorded {
  std::vector<Finding> findings;
  findings::Recommendation priced;  // of the finding `id`, whatever it gains
  double samples_per_s = 0;

  const Finding* Of(std::string_view id) const {
    const auto at = std::find_if(findings.begin(), findings.end(),
                                 [&](const Finding& finding) { return finding.id == id; });
    return at == findings.end() ? nullptr : &*at;
  }
  std::string Ids() const {
    std::string ids;
    for (const Finding& finding : findings) ids += finding.id + " ";
    return ids;
  }
};

// The recommendation of the finding `id` is priced even where it would not be shown.
Recorded Record(const Spec& spec, const test::ScratchDir& dir, std::string_view id = "") {
  capture::CaptureOptions options;
  options.output = dir / "run.sst";
  const auto captured = capture::Capture(spec, options);
  REQUIRE_MESSAGE(captured.ok(), captured.error().Line());
  const auto run = model::LoadTrace(options.output);
  REQUIRE_MESSAGE(run.ok(), run.error().Line());
  const auto attribution = attribution::Attribute(run.value());
  Recorded recorded;
  recorded.findings = replay::AnswerOn(run.value(), attribution, false).findings;
  const Finding* const planted = recorded.Of(id);
  if (planted != nullptr && planted->recommendation.has_value()) {
    recorded.priced = *planted->recommendation;
    replay::PricerFor(run.value(), attribution)(recorded.priced);
  }
  if (attribution.throughput.has_value())
    recorded.samples_per_s = attribution.throughput->samples_per_s;
  return recorded;
}

// Other work on the machine may hide a mistake, or look like one: then again, a few times.
Recorded RecordUntil(bool finds, const Planted& planted, const test::ScratchDir& dir) {
  constexpr int kTries = 3;
  const Spec& spec = finds ? planted.spec : planted.sound;
  const std::string_view priced = finds ? std::string_view(planted.id) : std::string_view();
  Recorded recorded = Record(spec, dir, priced);
  for (int i = 1; i < kTries && (recorded.Of(planted.id) != nullptr) != finds; ++i) {
    recorded = Record(spec, dir, priced);
  }
  return recorded;
}

// That the simulation prices the change of a planted mistake; how well, the machine's other load
// decides.
void CheckPrice(const Planted& planted, const findings::Recommendation& priced) {
  CHECK_MESSAGE(priced.gain.has_value(), priced.unpriced);
  if (!priced.gain.has_value()) return;
  CHECK(priced.unpriced == "");
  CHECK(priced.gain->low > 0);
  CHECK(priced.gain->low < priced.gain->predicted);
  CHECK(priced.gain->predicted < priced.gain->high);
  // What rests on usual times, or on the emulated device's figures, says so.
  if (planted.row != 7) CHECK_FALSE(priced.assumptions.empty());
}

// Checks the mistakes of one row, without prices: whether an interval excludes 1 depends on other
// load of the machine. `of_ops`: its changes are of what maps do.
void CheckRow(int row, bool of_ops = false) {
  const test::ScratchDir dir;
  size_t seen = 0;
  for (const Planted& planted : test::AllPlanted(dir.path())) {
    if (planted.row != row) continue;
    ++seen;
    CAPTURE(planted.name);
    const Recorded found = RecordUntil(true, planted, dir);
    const Finding* const finding = found.Of(planted.id);
    if (of_ops) CheckPrice(planted, found.priced);
    CHECK_MESSAGE(finding != nullptr, "only: " << found.Ids());
    if (finding != nullptr && finding->recommendation.has_value()) {
      const auto& recommendation = *finding->recommendation;
      const auto changed = Apply(planted.spec, recommendation.patch);
      CHECK(changed.ok());
      if (planted.speeds) CHECK_FALSE(recommendation.patch.changes.empty());
    } else if (planted.speeds) {
      CHECK_MESSAGE(finding == nullptr, "nothing is recommended");
    }
    const Recorded sound = RecordUntil(false, planted, dir);
    const Finding* const false_alarm = sound.Of(planted.id);
    CHECK_MESSAGE(false_alarm == nullptr, "near miss: " << false_alarm->text);
  }
  CHECK(seen > 0);
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("row 1 of the checklist, recorded") { CheckRow(1); }
  TEST_CASE("row 2 of the checklist, recorded") { CheckRow(2); }
  TEST_CASE("row 3 of the checklist, recorded") { CheckRow(3); }
  TEST_CASE("row 4 of the checklist, recorded") { CheckRow(4); }
  TEST_CASE("row 5 of the checklist, recorded") { CheckRow(5); }
  TEST_CASE("row 6 of the checklist, recorded") { CheckRow(6, true); }
  TEST_CASE("row 7 of the checklist, recorded") { CheckRow(7, true); }
  TEST_CASE("row 8 of the checklist, recorded") { CheckRow(8); }
  TEST_CASE("row 9 of the checklist, recorded") { CheckRow(9); }
  TEST_CASE("row 10 of the checklist, recorded") { CheckRow(10); }
  TEST_CASE("row 11 of the checklist, recorded") { CheckRow(11); }
  TEST_CASE("row 12 of the checklist, recorded") { CheckRow(12); }
  TEST_CASE("row 13 of the checklist, recorded") { CheckRow(13); }
  TEST_CASE("row 14 of the checklist, recorded") { CheckRow(14); }
  TEST_CASE("row 15 of the checklist, recorded") { CheckRow(15, true); }
  TEST_CASE("row 16 of the checklist, recorded") { CheckRow(16, true); }
  TEST_CASE("row 17 of the checklist, recorded") { CheckRow(17, true); }
  TEST_CASE("row 18 of the checklist, recorded") { CheckRow(18); }
  TEST_CASE("row 19 of the checklist, recorded") { CheckRow(19); }
  TEST_CASE("row 20 of the checklist, recorded") { CheckRow(20); }
  TEST_CASE("row 21 of the checklist, recorded") { CheckRow(21); }
  TEST_CASE("row 22 of the checklist, recorded") { CheckRow(22, true); }
  TEST_CASE("row 23 of the checklist, recorded") { CheckRow(23); }
  TEST_CASE("row 24 of the checklist, recorded") { CheckRow(24); }
}

TEST_SUITE("measure") {
  TEST_CASE("the gain of each change of the checklist, predicted and measured") {
    const test::ScratchDir dir;
    size_t inside = 0;
    size_t priced = 0;
    for (const Planted& planted : test::AllPlanted(dir.path())) {
      const Recorded first = Record(planted.spec, dir, planted.id);
      // A few elements, or a compilation: nothing that a simulation could tell.
      if (first.priced.patch.changes.empty() || first.priced.only_measured) {
        std::cout << fmt::format("{:2} {:<50} nothing to predict\n", planted.row, planted.name);
        continue;
      }
      auto changed = Apply(planted.spec, first.priced.patch);
      REQUIRE(changed.ok());
      test::Prepare(planted.spec, changed.value(), dir.path());
      Record(changed.value(), dir);  // what it stores, the measured runs read
      std::vector<double> before = {first.samples_per_s};
      std::vector<double> after;
      for (int i = 0; i < 3; ++i) {
        after.push_back(Record(changed.value(), dir).samples_per_s);
        if (i < 2) before.push_back(Record(planted.spec, dir).samples_per_s);
      }
      const double measured = Median(after) / Median(before);
      const auto& gain = first.priced.gain;
      if (!gain.has_value()) {
        std::cout << fmt::format("{:2} {:<50} unpriced, measured {:.2f}: {}\n", planted.row,
                                 planted.name, measured, first.priced.unpriced);
        continue;
      }
      ++priced;
      const bool held = measured >= gain->low && measured <= gain->high;
      if (held) ++inside;
      std::cout << fmt::format("{:2} {:<50} {:.2f} ({:.2f} to {:.2f}), measured {:.2f}{}\n",
                               planted.row, planted.name, gain->predicted, gain->low, gain->high,
                               measured, held ? "" : "  outside");
    }
    std::cout << fmt::format("{} of {} inside their interval\n", inside, priced);
  }
}
