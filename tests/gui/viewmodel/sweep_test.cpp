#include "gui/viewmodel/sweep.h"

#include <doctest/doctest.h>

using namespace stallscope;
using namespace stallscope::viewmodel;

namespace {

// Four rows: two knobs with two values each; the last is the fastest and needs the most memory.
report::SweepTable Table4() {
  report::SweepTable table;
  table.axes = {{"decode.parallelism", {"1", "2"}}, {"prefetch.buffer_size", {"1", "8"}}};
  const auto row = [&](const char* a, const char* b, double predicted, double measured,
                       uint64_t memory) {
    report::SweepRow r;
    r.name = std::string("decode.parallelism=") + a;
    r.values = {a, b};
    r.predicted = report::SweepRate{predicted, predicted * 0.9, predicted * 1.1};
    if (measured > 0) r.measured = report::SweepRate{measured, measured - 1, measured + 1};
    r.memory_bytes = memory;
    table.rows.push_back(std::move(r));
  };
  row("1", "1", 100, 95, 1'000);
  row("1", "8", 110, 0, 4'000);
  row("2", "1", 190, 180, 2'000);
  row("2", "8", 210, 200, 8'000);
  return table;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("the heat map has one cell per pair, slowest to fastest") {
    const auto heat = HeatOf(Table4());
    REQUIRE(heat.has_value());
    CHECK(heat->x_values == std::vector<std::string>{"1", "2"});
    REQUIRE(heat->cells.size() == 2);
    CHECK(heat->cells[0][0].level == 0);
    CHECK(heat->cells[0][0].base);
    CHECK(heat->cells[1][1].level == 1);
    CHECK(heat->cells[1][1].best);
    CHECK_FALSE(heat->cells[1][0].measured);
    report::SweepTable one = Table4();
    one.axes.pop_back();
    CHECK_FALSE(HeatOf(one).has_value());
  }

  TEST_CASE("a knob's lines show the best rate at each value") {
    const auto plots = viewmodel::LinesOf(Table4());
    REQUIRE(plots.size() == 2);
    REQUIRE(plots[0].lines.size() == 2);
    const PlotLine& predicted = plots[0].lines[0];
    CHECK_FALSE(predicted.measured);
    REQUIRE(predicted.points.size() == 2);
    CHECK(predicted.points[0].row == 1);
    CHECK(predicted.points[1].row == 3);
    CHECK(predicted.points[0].x == 0);
    CHECK(predicted.points[1].x == 1);
    CHECK(predicted.points[1].low < predicted.points[1].y);
    CHECK(predicted.points[1].high > predicted.points[1].y);
  }

  TEST_CASE("the Pareto front is optimal, and measured meets predicted") {
    const auto pareto = ParetoOf(Table4());
    REQUIRE(pareto.has_value());
    CHECK(pareto->dots.size() == 4);
    std::vector<size_t> front;
    for (const PlotPoint& point : pareto->lines[0].points) front.push_back(point.row);
    CHECK(front == std::vector<size_t>{0, 2, 3});
    const auto accuracy = AccuracyOf(Table4());
    REQUIRE(accuracy.has_value());
    CHECK(accuracy->dots.size() == 3);
    CHECK(accuracy->dots[0].x < accuracy->dots[0].y);
    report::SweepTable unmeasured = Table4();
    for (auto& row : unmeasured.rows) row.measured.reset();
    CHECK_FALSE(AccuracyOf(unmeasured).has_value());
  }

  TEST_CASE("a grid's points have a column per knob, and a measurement comes first") {
    session::State state;
    auto table = std::make_shared<report::SweepTable>(Table4());
    table->rows[3].gain = findings::Measurement{2.1, 1.9, 2.3, 3, "its runs differ by 31.0%", {}};
    state.sweep.table = table;
    const Table points = BuildSweep(state).table;
    REQUIRE(points.columns.size() == 8);
    CHECK(points.columns[0].name == "decode.parallelism");
    CHECK(points.columns[1].name == "prefetch.buffer_size");
    CHECK(points.columns[2].name == "measured gain");
    CHECK(points.columns[3].name == "measured");
    CHECK(points.columns[4].name == "predicted");
    CHECK(points.rows[0][0].text == "1 (base)");
    CHECK(points.rows[3][1].text == "8");
    CHECK(points.rows[3][2].text == "2.10x (1.90 to 2.30, 3 runs)");
    CHECK(points.rows[3][7].text == "disturbed: its runs differ by 31.0%");
    // Points that are no grid keep their names.
    table = std::make_shared<report::SweepTable>(Table4());
    table->rows[1].values.clear();
    state.sweep.table = table;
    CHECK(BuildSweep(state).table.columns[0].name == "configuration");
  }
}
