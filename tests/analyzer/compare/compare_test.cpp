#include "analyzer/compare/compare.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "tests/analyzer/compare/runs.h"

using namespace stallscope;
using compare::Answer;
using compare::Change;
using compare::Compare;
using compare::Comparison;
using compare::RunSummary;
using doctest::Approx;
using test::RunOf;
using test::RunsOf;

namespace {

constexpr size_t kStall = attribution::At(attribution::Category::kInputStall);
constexpr size_t kCompute = attribution::At(attribution::Category::kCompute);

std::vector<double> Noisy(size_t count, double ms, uint64_t seed) {
  test::Simulation simulation(seed);
  std::vector<double> steps;
  for (size_t i = 0; i < count; ++i) steps.push_back(ms * (1 + 0.05 * simulation.Normal()));
  return steps;
}

bool Says(const Comparison& comparison, const std::string& words) {
  return std::any_of(
      comparison.warnings.begin(), comparison.warnings.end(),
      [&](const std::string& line) { return line.find(words) != std::string::npos; });
}

std::string SpecWith(int parallelism) {
  std::string spec = R"json({"name": "s", "stages": [
      {"name": "read", "source": {"format": "synthetic"}},
      {"name": "work", "map": {"ops": ["busy(10)"], "parallelism": WORKERS}},
      {"name": "batch", "batch": {"size": 8}}], "trainer": {"device": "emulated"}})json";
  const std::string mark = "WORKERS";
  return spec.replace(spec.find(mark), mark.size(), std::to_string(parallelism));
}

bool AllFinite(const Change& change) {
  return std::isfinite(change.base) && std::isfinite(change.now) && std::isfinite(change.ratio) &&
         std::isfinite(change.low) && std::isfinite(change.high);
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a recording compared with itself has no real change, however few its steps") {
    for (const size_t steps : {size_t{1}, size_t{2}, size_t{3}, size_t{200}}) {
      CAPTURE(steps);
      RunSummary run = RunOf("a.sst", Noisy(steps, 10, 3));
      run.ms_per_step[kStall] = 2.0;
      RunSummary copy = run;
      copy.trace = "copy.sst";
      const Comparison same = Compare({run}, {copy});
      CHECK(same.answer == Answer::kNoRealChange);
      CHECK(same.text == "no real change: both sides are the same recording");
      CHECK(same.method == "same runs");
      CHECK(same.throughput->low == 1);
      CHECK(same.throughput->high == 1);
      CHECK(same.step_p99_ms.has_value() == (steps == 200));
      if (same.step_p99_ms) CHECK(same.step_p99_ms->ratio == 1);
      CHECK(same.ms_per_step[kStall]->high == 1);
      CHECK(same.warnings.empty());
    }
    // Of a run without steps only its file's name is known.
    RunSummary empty;
    empty.trace = "a.sst";
    CHECK(Compare({empty}, {empty}).answer == Answer::kNoRealChange);
    RunSummary other = empty;
    other.trace = "b.sst";
    CHECK(Compare({empty}, {other}).answer == Answer::kInconclusive);
    CHECK(Compare({empty}, {other}).method == "none");
  }

  TEST_CASE("noisy runs compared with themselves in another order") {
    const auto base = RunsOf("a", {100, 150, 80, 120, 90});
    auto now = base;
    std::rotate(now.begin(), now.begin() + 2, now.end());
    for (auto* side : {&now}) {
      for (RunSummary& run : *side) run.step_ms = {1};
    }
    auto with_steps = base;
    for (RunSummary& run : with_steps) run.step_ms = {1};
    CHECK(Compare(with_steps, now).answer == Answer::kNoRealChange);
    // One of them is another run.
    now[0].samples_per_s = 81;
    const Comparison other = Compare(with_steps, now);
    CHECK(other.answer == Answer::kInconclusive);
    CHECK(Says(other, "the same recording is on both sides"));
  }

  TEST_CASE("five runs per side: the text has the change and the method") {
    const Comparison faster = Compare(RunsOf("a", {1000, 1012, 991, 1005, 1008}),
                                      RunsOf("b", {1052, 1061, 1049, 1070, 1043}));
    CHECK(faster.answer == Answer::kFaster);
    CHECK(faster.method == "mann-whitney");
    CHECK(*faster.p_value == Approx(2.0 / 252));
    CHECK(faster.text == "5.2% faster (3.8 to 6.6%), from 5 runs per side, Mann-Whitney p = 0.008");
    CHECK(faster.throughput->bounded);
    CHECK(faster.throughput->low < 1.05);
    CHECK(faster.throughput->high > 1.06);
    CHECK(faster.base_runs == 5);
    CHECK_FALSE(faster.step_mean_ms.has_value());

    const Comparison slower = Compare(RunsOf("a", {1052, 1061, 1049, 1070, 1043}),
                                      RunsOf("b", {1000, 1012, 991, 1005, 1008, 1001}));
    CHECK(slower.answer == Answer::kSlower);
    CHECK(slower.text.find("% slower (") != std::string::npos);
    CHECK(slower.text.find("from 5 and 6 runs, Mann-Whitney p = 0.004") != std::string::npos);

    const Comparison none = Compare(RunsOf("a", {1000, 1002, 998, 1001, 999}),
                                    RunsOf("b", {1000.5, 1001.5, 999.5, 1002.5, 1004}));
    CHECK(none.answer == Answer::kNoRealChange);
    CHECK(none.text.substr(0, 16) == "no real change: ");

    const Comparison open =
        Compare(RunsOf("a", {100, 150, 80, 120, 90}), RunsOf("b", {101, 151, 81, 121, 91}));
    CHECK(open.answer == Answer::kInconclusive);
    CHECK(open.text.substr(0, 14) == "inconclusive: ");
    CHECK(open.text.find("% slower to ") != std::string::npos);
    CHECK(open.text.find("; more runs would settle it") != std::string::npos);
  }

  TEST_CASE("one run per side: the text says that the steps decide") {
    const Comparison faster =
        Compare({RunOf("a", Noisy(200, 10, 1))}, {RunOf("b", Noisy(200, 9, 2))});
    CHECK(faster.answer == Answer::kFaster);
    CHECK(faster.method == "block bootstrap");
    CHECK_FALSE(faster.p_value.has_value());
    CHECK(faster.text.find(
              "from the steps of 1 run per side, widened by the variation within a run") !=
          std::string::npos);
    for (const auto& change : {faster.throughput, faster.step_mean_ms, faster.step_p50_ms,
                               faster.step_p95_ms, faster.step_p99_ms}) {
      REQUIRE(change.has_value());
      CHECK(change->bounded);
      CHECK(change->low < change->ratio);
      CHECK(change->ratio < change->high);
    }
    CHECK(faster.throughput->ratio == Approx(10.0 / 9).epsilon(0.02));
    CHECK(faster.step_mean_ms->ratio == Approx(0.9).epsilon(0.02));
    CHECK(faster.step_p50_ms->base == Approx(10).epsilon(0.02));
    CHECK(faster.step_p99_ms->base == Approx(11.2).epsilon(0.05));
    const Comparison two = Compare({RunOf("a", Noisy(200, 10, 1)), RunOf("a2", Noisy(200, 10, 4))},
                                   {RunOf("b", Noisy(200, 9, 2))});
    CHECK(two.text.find(
              "from the steps of 2 and 1 runs, widened by the variation between runs on a side") !=
          std::string::npos);
  }

  TEST_CASE("too few steps are reported") {
    CHECK(Compare({RunOf("a", {10})}, {RunOf("b", {10, 11, 12})}).text ==
          "inconclusive: the base side lacks a run with 3 counted steps or more");
    CHECK(Compare({RunOf("a", {10, 11, 12})}, {RunOf("b", {})}).text ==
          "inconclusive: the new side lacks a run with 3 counted steps or more");
    const Comparison both = Compare({RunOf("a", {10})}, {RunOf("b", {5})});
    CHECK(both.text == "inconclusive: neither side has a run with 3 counted steps or more");
    // The figures are there all the same, without an interval.
    CHECK(both.throughput->ratio == Approx(2));
    CHECK_FALSE(both.throughput->bounded);
    CHECK(both.step_mean_ms->ratio == Approx(0.5));
  }

  TEST_CASE("a run given twice counts once") {
    const RunSummary a = RunOf("a.sst", Noisy(50, 10, 1));
    const Comparison twice = Compare(
        {a, a, a, a, a}, {RunOf("b.sst", Noisy(50, 10, 2)), RunOf("c.sst", Noisy(50, 10, 3)),
                          RunOf("d.sst", Noisy(50, 10, 4)), RunOf("e.sst", Noisy(50, 10, 5)),
                          RunOf("f.sst", Noisy(50, 10, 6))});
    CHECK(twice.method == "block bootstrap");
    CHECK(twice.base_runs == 5);
    CHECK(Says(twice, "a.sst: given more than once on one side, counted once"));
    // Two recordings under one name are two.
    RunSummary other = RunOf("a.sst", Noisy(50, 10, 9));
    CHECK(Compare({a, other}, {RunOf("b.sst", Noisy(50, 10, 2))}).warnings.empty());
  }

  TEST_CASE("breakdown and stages side by side") {
    RunSummary base = RunOf("a", Noisy(20, 10, 1));
    RunSummary now = RunOf("b", Noisy(20, 10, 2));
    base.ms_per_step[kStall] = 4.0;
    now.ms_per_step[kStall] = 1.0;
    base.ms_per_step[kCompute] = 0.0;
    now.ms_per_step[kCompute] = 2.0;
    base.stages = {{"read", 1.0, 2.0, 100.0, {}}, {"decode", 5.0, 8.0, 50.0, {}}, {.name = "idle"}};
    now.stages = {
        {"cache", 0.1, 0.1, 900.0, {}}, {"decode", 5.0, 4.0, 100.0, {}}, {"idle", 1.0, {}, {}, {}}};
    const Comparison both = Compare({base}, {now});
    CHECK(both.ms_per_step[kStall]->ratio == Approx(0.25));
    CHECK_FALSE(both.ms_per_step[kStall]->bounded);
    CHECK_FALSE(both.ms_per_step[kCompute]->HasRatio());
    CHECK(both.ms_per_step[kCompute]->now == 2);
    CHECK_FALSE(
        both.ms_per_step[attribution::At(attribution::Category::kCommunication)].has_value());
    REQUIRE(both.stages.size() == 4);
    CHECK(both.stages[0].name == "read");
    CHECK_FALSE(both.stages[0].service_ms.has_value());
    CHECK(both.stages[1].name == "decode");
    CHECK(both.stages[1].service_ms->ratio == 1);
    CHECK(both.stages[1].busy_ms_per_step->ratio == Approx(0.5));
    CHECK(both.stages[1].capacity_samples_per_s->ratio == Approx(2));
    CHECK_FALSE(both.stages[2].service_ms.has_value());
    CHECK(both.stages[3].name == "cache");
  }

  TEST_CASE("two runs per side bound the breakdown") {
    std::vector<RunSummary> base(2), now(2);
    base[0].ms_per_step[kStall] = 1;
    base[1].ms_per_step[kStall] = 4;
    now[0].ms_per_step[kStall] = 4;
    now[1].ms_per_step[kStall] = 16;
    const auto change = Compare(base, now).ms_per_step[kStall];
    CHECK(change->base == Approx(2));
    CHECK(change->now == Approx(8));
    CHECK(change->ratio == Approx(4));
    CHECK(change->bounded);
    // A zero has no logarithm: the means, and no interval.
    base[1].ms_per_step[kStall] = 0;
    const auto plain = Compare(base, now).ms_per_step[kStall];
    CHECK(plain->base == 0.5);
    CHECK(plain->ratio == Approx(20));
    CHECK_FALSE(plain->bounded);
  }

  TEST_CASE("the spec's change is found where each side has one spec") {
    RunSummary base = RunOf("a", Noisy(20, 10, 1));
    RunSummary now = RunOf("b", Noisy(20, 10, 2));
    CHECK_FALSE(Compare({base}, {now}).spec_change.has_value());
    base.spec_json = SpecWith(2);
    CHECK_FALSE(Compare({base}, {now}).spec_change.has_value());
    now.spec_json = SpecWith(4);
    const Comparison changed = Compare({base}, {now});
    REQUIRE_MESSAGE(changed.spec_change.has_value(), changed.warnings.front());
    CHECK(changed.spec_change->changes.size() == 1);
    CHECK(std::get<SetChange>(changed.spec_change->changes[0]) == SetTo("work.parallelism", 4));
    now.spec_json = SpecWith(2);
    CHECK(Compare({base}, {now}).spec_change->changes.empty());

    RunSummary odd = RunOf("c", Noisy(20, 10, 3));
    odd.spec_json = SpecWith(8);
    const Comparison mixed = Compare({base, odd}, {now});
    CHECK_FALSE(mixed.spec_change.has_value());
    CHECK(Says(mixed, "the base runs have different specs"));
    now.spec_json = R"({"stages": 3})";
    CHECK(Says(Compare({base}, {now}), "the specs cannot be compared: "));
  }

  TEST_CASE("the settings of a job's loaders that differ are the change") {
    RunSummary base = RunOf("a.sst", Noisy(50, 10, 3));
    base.settings = {{"loader.batch_size", "16"}, {"loader.num_workers", "1"}};
    RunSummary now = RunOf("b.sst", Noisy(50, 10, 4));
    CHECK_FALSE(Compare({base}, {now}).spec_change.has_value());
    now.settings = base.settings;
    CHECK(Compare({base}, {now}).spec_change->changes.empty());
    now.settings[1].value = "2";
    const Comparison changed = Compare({base}, {now});
    REQUIRE(changed.spec_change.has_value());
    REQUIRE(changed.spec_change->changes.size() == 1);
    CHECK(std::get<SetChange>(changed.spec_change->changes[0]) == SetTo("loader.num_workers", 2));
    const Comparison mixed = Compare({base}, {now, base});
    CHECK_FALSE(mixed.spec_change.has_value());
    CHECK(Says(mixed, "the loaders of the new runs have different settings"));
  }

  TEST_CASE("ops are compared within their stage") {
    RunSummary base = RunOf("a.sst", Noisy(50, 10, 3));
    base.stages = {{.name = "fetch", .ops = {{"Resize", 4}, {"Decode", 2}}}, {.name = "collate"}};
    RunSummary now = RunOf("b.sst", Noisy(50, 10, 4));
    now.stages = {{.name = "fetch", .ops = {{"Resize", 1}, {"Crop", 0.5}}}};
    const Comparison comparison = Compare({base}, {now});
    REQUIRE(comparison.stages.size() == 2);
    const auto& ops = comparison.stages[0].ops;
    REQUIRE(ops.size() == 3);
    CHECK(ops[0].name == "Resize");
    REQUIRE(ops[0].ms_per_call.has_value());
    CHECK(ops[0].ms_per_call->ratio == Approx(0.25));
    CHECK_FALSE(ops[1].ms_per_call.has_value());
    CHECK(ops[2].name == "Crop");
  }

  TEST_CASE("what makes the sides hard to compare is a warning") {
    RunSummary base = RunOf("a.sst", Noisy(20, 10, 1));
    base.host = "north";
    base.cores_allowed = 2;
    base.device_kind = "cuda";
    base.device_name = "H100";
    base.digest = "aa";
    RunSummary now = RunOf("b.sst", Noisy(20, 10, 2));
    // What a side does not say cannot differ.
    CHECK(Compare({base}, {now}).warnings.empty());
    now.host = base.host;
    now.cores_allowed = base.cores_allowed;
    now.device_kind = base.device_kind;
    now.device_name = base.device_name;
    now.digest = base.digest;
    CHECK(Compare({base}, {now}).warnings.empty());
    CHECK(Compare({base}, {now}).same_data);
    now.host = "south";
    CHECK(Says(Compare({base}, {now}), "the hosts differ: base north; new south"));
    now.cores_allowed = 1.5;
    CHECK(Says(Compare({base}, {now}), "the cores differ: base 2; new 1.5"));
    now.device_name = "H200";
    CHECK(Says(Compare({base}, {now}), "the devices differ: base cuda (H100); new cuda (H200)"));
    now.digest = "bb";
    const Comparison other_data = Compare({base}, {now});
    CHECK_FALSE(other_data.same_data);
    CHECK(Says(other_data, "the digests differ"));
    CHECK(other_data.warnings.size() == 4);
    now.complete = false;
    CHECK(Says(Compare({base}, {now}), "b.sst: part of this run was lost"));
    now.others = 0.09;
    CHECK_FALSE(Says(Compare({base}, {now}), "other programs"));
    now.others = 0.31;
    CHECK(
        Says(Compare({base}, {base, now}),
             "other programs or virtual machines had up to 31.0% of the cores in 1 of 2 new runs"));
  }

  TEST_CASE("runs without a throughput are left out") {
    auto base = RunsOf("a", {100, 101, 102, 103, 104, 105});
    base[0].samples_per_s = std::nullopt;
    const auto now = RunsOf("b", {110, 111, 112, 113, 114});
    const Comparison five = Compare(base, now);
    CHECK(five.method == "mann-whitney");
    CHECK(five.answer == Answer::kFaster);
    CHECK(Says(five, "a1.sst: no throughput, left out"));
    base[1].samples_per_s = std::nullopt;
    CHECK(Compare(base, now).answer == Answer::kInconclusive);
  }

  TEST_CASE("a side without samples is compared by steps per second") {
    const Comparison steps =
        Compare({RunOf("a", Noisy(100, 10, 1), 0)}, {RunOf("b", Noisy(100, 8, 2), 64)});
    CHECK(steps.answer == Answer::kFaster);
    CHECK_FALSE(steps.throughput.has_value());
    CHECK(steps.step_mean_ms->ratio == Approx(0.8).epsilon(0.03));
    CHECK(Says(steps, "comparing steps"));
  }

  TEST_CASE("no figure is ever infinite") {
    const std::vector<std::vector<double>> odd = {
        {}, {0}, {0, 0, 0, 0}, {0, 0, 0, 1e-6}, {1e15, 1e15, 1e15}, {1, 0, 1, 0, 1, 0, 1, 0}};
    for (const auto& first : odd) {
      for (const auto& second : odd) {
        const Comparison comparison = Compare({RunOf("a", first)}, {RunOf("b", second)});
        for (const auto& change :
             {comparison.throughput, comparison.step_mean_ms, comparison.step_p50_ms,
              comparison.step_p95_ms, comparison.step_p99_ms}) {
          if (change) CHECK(AllFinite(*change));
        }
        CHECK(comparison.text.find("nan") == std::string::npos);
        CHECK(comparison.text.find("inf ") == std::string::npos);
      }
    }
  }
}
