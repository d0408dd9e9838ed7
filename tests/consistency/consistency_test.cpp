#include "tests/consistency/consistency.h"

#include <doctest/doctest.h>

#include <functional>
#include <utility>

#include "tests/support/paths.h"
#include "tests/support/skip.h"

using stallscope::test::ContradictionsIn;
using stallscope::test::Tell;
using stallscope::test::Told;

namespace {

void CheckAll(const std::vector<std::string>& traces) {
  REQUIRE_FALSE(traces.empty());
  for (const std::string& trace : traces) {
    CAPTURE(trace);
    const auto told = Tell(trace);
    if (!told.ok()) continue;  // whether it can be read is for the importers' tests
    for (const std::string& line : ContradictionsIn(told.value())) FAIL_CHECK(line);
  }
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("samples: verdict, breakdown, findings and gains agree") {
    CheckAll(stallscope::test::SampleTraces());
  }

  TEST_CASE("corpus: verdict, breakdown, findings and gains agree") {
    const auto traces = stallscope::test::CorpusTraces();
    if (traces.empty()) return stallscope::test::Skip("STALLSCOPE_CORPUS names no traces");
    CheckAll(traces);
  }

  TEST_CASE("what is wrong is found") {
    using stallscope::findings::Finding;
    using stallscope::findings::Gain;
    const auto load = [](const std::string& name) {
      auto told = Tell(stallscope::test::SourceDir() + "/sample_traces/" + name);
      REQUIRE(told.ok());
      CHECK(ContradictionsIn(told.value()).empty());
      return std::move(told).value();
    };
    const auto wrong = [](Told told, const std::function<void(Told&)>& spoil) {
      spoil(told);
      return !ContradictionsIn(told).empty();
    };
    const Told decode = load("input_decode.sst");
    REQUIRE(decode.answer.findings.size() > 2);
    CHECK(wrong(decode,
                [](Told& t) { t.answer.verdict.bound = stallscope::findings::Bound::kTransfer; }));
    CHECK(wrong(decode, [](Told& t) { t.answer.verdict.also = "launch takes 7.0% of step time"; }));
    CHECK(wrong(decode, [](Told& t) { t.answer.findings.clear(); }));
    CHECK(wrong(decode,
                [](Told& t) { std::swap(t.answer.findings.front(), t.answer.findings.back()); }));
    CHECK(wrong(decode, [](Told& t) {
      t.answer.findings[0].recommendation->gain = Gain{7, 6, 8};
    }));
    CHECK(wrong(decode, [](Told& t) { t.answer.findings[0].share = 0.99; }));
    CHECK(
        wrong(decode, [](Told& t) { t.answer.findings[0].text = "it is busy 104% of the time"; }));
    CHECK(wrong(decode, [](Told& t) { t.attribution.blame[0].ns += 1; }));
    CHECK(wrong(decode, [](Told& t) {
      for (auto& use : t.attribution.stages) use.passed.reset();
    }));
    CHECK(wrong(decode, [](Told& t) { t.attribution.devices[0].kernels += 1; }));
    CHECK(wrong(load("pytorch_workers_0.json.gz"), [](Told& t) {
      auto& recommendation = *t.answer.findings[0].recommendation;
      recommendation.gain = Gain{2, 1.5, 2.5};
      recommendation.unpriced.clear();
    }));
  }
}
