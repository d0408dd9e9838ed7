#include "gui/viewmodel/steps.h"

#include <doctest/doctest.h>

#include <numeric>

#include "gui/viewmodel/stalls.h"
#include "tests/gui/session/scene.h"

using namespace stallscope;
using namespace stallscope::viewmodel;

TEST_SUITE("fast") {
  TEST_CASE("a histogram counts each value once, outliers separately") {
    std::vector<double> values(100);
    std::iota(values.begin(), values.end(), 10.0);
    values.push_back(1e6);
    const Histogram histogram = MakeHistogram(values, 10, "ms");
    CHECK(histogram.above == 1);
    CHECK(std::accumulate(histogram.bins.begin(), histogram.bins.end(), uint64_t{0}) == 100);
    CHECK(histogram.low == 10);
    CHECK(histogram.high < 1'000);
    CHECK(histogram.tick_texts.size() == 5);
    CHECK(MakeHistogram({5, 5, 5}, 4, "ms").most == 3);
    CHECK(MakeHistogram({}, 4, "ms").bins.empty());
  }

  TEST_CASE("a slow step is an outlier, with its dot under the pointer") {
    const test::ScratchDir dir;
    test::TraceBuilder trace;
    const TrackId trainer = trace.Thread("trainer");
    int64_t at = 1'000'000;
    for (uint64_t step = 0; step < 50; ++step) {
      const int64_t length = step == 30 ? 20'000'000 : 1'000'000 + static_cast<int64_t>(step) * 100;
      trace.Step(step, at, at + length, trainer);
      at += length;
    }
    trace.Seal(at);
    trace.Write(dir / "run.sst");
    session::Session session(test::QuietOptions());
    test::OpenAndSettle(session, dir / "run.sst");
    const StepsModel model = BuildSteps(*session.state());
    REQUIRE(model.outlier_rows == std::vector<uint64_t>{30});
    CHECK(model.outliers.rows[0][0].text == "30");
    CHECK(model.dots.size() == 50);
    const StepDot& far = model.dots[30];
    CHECK(far.outlier);
    CHECK(far.y > 0.9F);
    CHECK(DotAt(model, far.x + 0.001F, far.y, 0.01F, 0.01F) == 30);
    CHECK(DotAt(model, 0.5F, 0.5F, 0.001F, 0.001F) == kNoDot);
    const auto tooltip = StepTooltip(*session.state(), 30);
    CHECK(tooltip[0] == "step 30");
    CHECK(tooltip[1] == "20.0 ms (20,000,000 ns)");
  }

  TEST_CASE("matrix and heat map add up to the stall") {
    const test::ScratchDir dir;
    test::TraceBuilder trace;
    test::BuildSteps(trace, 40);
    trace.Seal(41'000'000);
    trace.Write(dir / "run.sst");
    session::Session session(test::QuietOptions());
    test::OpenAndSettle(session, dir / "run.sst");
    constexpr size_t kColumns = 50;
    const StallsModel model = BuildStalls(*session.state(), kColumns);
    int64_t in_matrix = 0;
    for (const auto& row : model.cells) {
      for (const MatrixCell& cell : row) in_matrix += cell.ns;
    }
    const auto& breakdown = session.state()->shown.report->breakdown;
    const int64_t stall = breakdown[attribution::At(attribution::Category::kInputStall)]->ns;
    CHECK(in_matrix == stall);
    double in_heat = 0;
    for (const HeatRow& row : model.heat) {
      for (size_t k = 0; k < kColumns; ++k) {
        in_heat += static_cast<double>(row.columns[k]) *
                   static_cast<double>(HeatColumn(model, kColumns, k).ns());
      }
    }
    CHECK(in_heat == doctest::Approx(static_cast<double>(stall)).epsilon(1e-4));
    REQUIRE_FALSE(model.worst.rows.empty());
    CHECK(model.worst.rows[0][1].text == "600 us");
  }
}
