#include "analyzer/budget/budget.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "analyzer/base/file.h"
#include "analyzer/budget/metric.h"
#include "tests/analyzer/report/sample_reports.h"
#include "tests/support/paths.h"

using namespace stallscope;
using budget::CheckBudget;
using budget::Gate;
using budget::GateOf;
using budget::ReadBudget;
using report::CheckRow;
using report::Outcome;

namespace {

std::string Checks(const std::string& checks) {
  return R"({"schema": "stallscope.budget/1", "checks": [)" + checks + "]}";
}

budget::Budget Good(const std::string& checks) {
  const auto read = ReadBudget(Checks(checks), "b.json");
  if (!read.ok()) FAIL(read.error().Line());
  return read.value();
}

std::string Bad(const std::string& text) {
  const auto read = ReadBudget(text, "b.json");
  REQUIRE_FALSE(read.ok());
  CHECK(read.error().kind == ErrorKind::kUsage);
  return read.error().Line();
}

std::vector<CheckRow> Checked(const std::string& checks, const report::Report& report,
                              const compare::Comparison* base = nullptr) {
  auto rows = CheckBudget(Good(checks), report, base);
  REQUIRE(rows.ok());
  return rows.value();
}

Outcome OutcomeOf(const std::string& check, const report::Report& report,
                  const compare::Comparison* base = nullptr) {
  return Checked(check, report, base).at(0).outcome;
}

double ValueOf(const std::string& metric, const report::Report& report) {
  return Checked(R"({"metric": ")" + metric + R"(", "min": 0})", report).at(0).value.value();
}

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("the example of the contract reads") {
    const auto budget = Good(R"(
      {"metric": "breakdown.input_stall.fraction", "max": 0.05, "level": "error"},
      {"metric": "throughput.samples_per_s", "max_regression": 0.05, "level": "error"},
      {"metric": "trust.dropped", "max": 0, "level": "warn"})");
    REQUIRE(budget.checks.size() == 3);
    CHECK(budget.checks[0].max == 0.05);
    CHECK(budget.checks[1].max_regression == 0.05);
    CHECK(budget.checks[2].level == report::CheckLevel::kWarn);
    CHECK(budget.NeedsBase());
    CHECK_FALSE(Good(R"({"metric": "trust.dropped", "max": 0})").NeedsBase());
  }

  TEST_CASE("what is not known or wrong is an error that says where and what is nearest") {
    CHECK(Has(Bad(Checks(R"({"metrik": "trust.dropped", "max": 0})")), "'metric'"));
    CHECK(Has(Bad(Checks(R"({"metrik": "trust.dropped", "max": 0})")), "b.json:1:"));
    CHECK(Has(Bad(R"({"schema": "stallscope.budget/1", "check": []})"), "'checks'"));
    CHECK(Has(Bad(R"({"schema": "stallscope.budget/2", "checks": []})"), "stallscope.budget/1"));
    CHECK(Has(Bad(R"({"checks": []})"), "stallscope.budget/1"));
    CHECK(Has(Bad(R"({"schema": "stallscope.budget/1"})"), "'checks'"));
    CHECK(Has(Bad(Checks(R"({"metric": "trust.dropped"})")), "no limit"));
    CHECK(Has(Bad(Checks(R"({"max": 1})")), "'metric'"));
    CHECK(Has(Bad(Checks(R"({"metric": 3, "max": 1})")), "must be a string"));
    CHECK(Has(Bad(Checks(R"({"metric": "trust.dropped", "max": "1"})")), "must be a number"));
    CHECK(Has(Bad(Checks(R"({"metric": "trust.dropped", "max": 1, "min": 2})")), "larger"));
    CHECK(Has(Bad(Checks(R"({"metric": "trust.dropped", "max": 1, "level": "fatal"})")), "'warn'"));
    CHECK(Has(Bad(Checks(R"({"metric": "throughput.samples_per_s", "max_regression": 5})")),
              "0.05 is 5%"));
    CHECK(Has(Bad(Checks(R"({"metric": "breakdown.sync.fraction", "max": 10})")), "0.1 for 10%"));
    CHECK(Has(Bad(Checks(R"({"metric": "trust.spans", "max_regression": 0.1})")), "nearest"));
    CHECK(Has(Bad(Checks("3")), "must be an object"));
    CHECK(Has(Bad("[]"), "must be an object"));
    CHECK(Has(Bad("{"), "not JSON"));
  }

  TEST_CASE("a path that the schema does not have names the nearest") {
    const auto nearest = [](const std::string& metric) {
      return Bad(Checks(R"({"metric": ")" + metric + R"(", "max": 1})"));
    };
    CHECK(Has(nearest("breakdown.input_stal.fraction"), "'breakdown.input_stall.fraction'"));
    CHECK(Has(nearest("stages[decode].utilisation"), "'stages[decode].utilization'"));
    CHECK(Has(nearest("stages.utilization"), "'stages[NAME].utilization'"));
    CHECK(Has(nearest("breakdown.input_stall"), "'breakdown.input_stall.ns'"));
    CHECK(Has(nearest("input_stall"), "'breakdown.input_stall.fraction'"));
    CHECK(Has(nearest("stages[decode.utilization"), "not closed"));
    CHECK(Has(nearest("verdict.text"), "nearest"));
    CHECK(Has(nearest(""), "nearest"));
    CHECK(Has(nearest("a..b"), "nearest"));
  }

  TEST_CASE("every number of the schema can be asked for, rows by their names") {
    const report::Report report = test::InputBoundReport();
    CHECK(ValueOf("trust.spans", report) == 41'726);
    CHECK(ValueOf("trust.complete", report) == 1);
    CHECK(ValueOf("stages[decode].utilization", report) == 0.982);
    CHECK(ValueOf("stages[decode].service_ms.mean", report) == 3.68);
    CHECK(ValueOf("stages[decode].queue.capacity", report) == 4);
    CHECK(ValueOf("kernels[train_step].ns", report) == 5'900'000'000);
    CHECK(ValueOf("devices[0].busy_ns", report) == 6'910'000'000);
    CHECK(ValueOf("devices[0].copies[h2d].bytes", report) == 486'539'264);
    CHECK(ValueOf("memory.stages[shuffle].bytes", report) == 7'168'000);
    CHECK(ValueOf("findings[map-parallelism].share", report) == 0.382);
    CHECK(ValueOf("findings[map-parallelism].recommendation.gain.predicted", report) == 1.58);
    CHECK(ValueOf("verdict.confidence", report) == 0.96);
    CHECK(ValueOf("window.steps", report) == 200);
    CHECK(ValueOf("stall_blame[decode (order)].ns", report) == 12'345'677);
    CHECK(ValueOf("stall_blame[decode].ns", report) ==
          ValueOf("stall_blame[decode (cpu)].ns", report) + 12'345'677);
    CHECK(ValueOf("stall_blame[augment].ns", report) == 0);
    for (const std::string& figure : budget::KnownFigures()) {
      budget::Metric metric;
      CHECK_FALSE(budget::ReadMetric(figure, metric).has_value());
    }
  }

  TEST_CASE("metrics in few lines are those of the list, each once") {
    // "a.{b, c}.{d, e}" and "a[NAME].b" as the patterns that they stand for.
    const std::function<void(std::string, std::multiset<std::string>&)> expand =
        [&](std::string text, std::multiset<std::string>& into) {
          const size_t open = text.find('{');
          if (open == std::string::npos) {
            into.insert(std::regex_replace(text, std::regex(R"(\[NAME\])"), "[]"));
            return;
          }
          const size_t close = text.find('}', open);
          std::istringstream keys(text.substr(open + 1, close - open - 1));
          for (std::string key; std::getline(keys >> std::ws, key, ',');) {
            expand(std::string(text).replace(open, close + 1 - open, key), into);
          }
        };
    for (const auto* patterns : {&budget::KnownFigures(), &budget::ComparedFigures()}) {
      std::multiset<std::string> expanded;
      const auto lines = budget::InFewLines(*patterns);
      CHECK(lines.size() < patterns->size() / 2);
      for (const std::string& line : lines) expand(line, expanded);
      CHECK(expanded == std::multiset<std::string>(patterns->begin(), patterns->end()));
    }
    CHECK(budget::InFewLines({"a.x", "b.x", "c.x.m", "d[].m", "a.y"}) ==
          std::vector<std::string>{"a.{x, y}", "b.x", "c.x.m", "d[NAME].m"});
  }

  TEST_CASE("the page of the report's fields marks exactly the figures that a budget can check") {
    const auto page = ReadWholeFile(test::SourceDir() + "/analyzer/report/FIELDS.md", 1 << 20);
    REQUIRE(page.ok());
    constexpr std::array<const char*, 7> kCategories = {
        "compute", "communication", "transfer", "launch", "input_stall", "sync", "other"};
    const std::regex row(R"(\| `([^`]+)` \|[^|]*\| yes \|.*)");
    const std::string any = "CATEGORY";
    std::set<std::string> marked;
    std::istringstream lines(page.value());
    for (std::string line; std::getline(lines, line);) {
      std::smatch cells;
      if (!std::regex_match(line, cells, row)) continue;
      const std::string field = cells[1].str();
      const size_t at = field.find(any);
      if (at == std::string::npos) {
        marked.insert(field);
        continue;
      }
      for (const char* category : kCategories) {
        marked.insert(std::string(field).replace(at, any.size(), category));
      }
    }
    const auto& known = budget::KnownFigures();
    for (const std::string& figure : known) {
      CHECK_MESSAGE(marked.contains(figure), "the page does not have " << figure);
    }
    for (const std::string& field : marked) {
      CHECK_MESSAGE(std::find(known.begin(), known.end(), field) != known.end(),
                    "no budget can check " << field);
    }
  }

  TEST_CASE("an op of a job's stage can be asked for by its name") {
    const report::Report report = test::JobReport(2);
    CHECK(ValueOf("stages[fetch].ops[Store.get].fraction", report) == 0.97);
    CHECK(ValueOf("stages[fetch].ops[Resize].count", report) == 318);
  }

  TEST_CASE("a kernel's name may have brackets and dots") {
    report::Report report = test::InputBoundReport();
    report.kernels[0].name = "void f<int[3], a.b>(float[2][1])";
    CHECK(ValueOf("kernels[void f<int[3], a.b>(float[2][1])].count", report) == 2200);
  }

  TEST_CASE(
      "limits fail where the whole interval lies beyond, and tell nothing where it straddles") {
    const report::Report report = test::InputBoundReport();  // 0.4011 (0.389 to 0.413)
    const auto with = [&](const std::string& limit) {
      return OutcomeOf(R"({"metric": "breakdown.input_stall.fraction", )" + limit + "}", report);
    };
    CHECK(with(R"("max": 0.05)") == Outcome::kFail);
    CHECK(with(R"("max": 0.4)") == Outcome::kInconclusive);
    CHECK(with(R"("max": 0.41)") == Outcome::kInconclusive);
    CHECK(with(R"("max": 0.42)") == Outcome::kPass);
    CHECK(with(R"("min": 0.5)") == Outcome::kFail);
    CHECK(with(R"("min": 0.4)") == Outcome::kInconclusive);
    CHECK(with(R"("min": 0.3)") == Outcome::kPass);
    CHECK(with(R"("min": 0.3, "max": 0.42)") == Outcome::kPass);
    CHECK(with(R"("min": 0.4, "max": 0.42)") == Outcome::kInconclusive);
    CHECK(with(R"("min": 0.01, "max": 0.05)") == Outcome::kFail);
    // Nanoseconds have no interval of their own: a point.
    CHECK(OutcomeOf(R"({"metric": "breakdown.input_stall.ns", "max": 4813200000})", report) ==
          Outcome::kPass);
    CHECK(OutcomeOf(R"({"metric": "breakdown.input_stall.ns", "max": 4813199999})", report) ==
          Outcome::kFail);
    CHECK(OutcomeOf(R"({"metric": "trust.dropped", "max": 0})", report) == Outcome::kPass);
  }

  TEST_CASE("a share reads as a percentage, any other figure as a number") {
    const report::Report report = test::InputBoundReport();  // 0.4011 (0.389 to 0.413)
    const auto row = [&](const std::string& check) { return Checked(check, report).at(0); };
    const CheckRow stall = row(R"({"metric": "breakdown.input_stall.fraction", "max": 0.125})");
    CHECK(stall.text ==
          "breakdown.input_stall.fraction is 40.1% (38.9% to 41.3%); must be at most 12.5%");
    CHECK(stall.limit == "at most 0.125");
    CHECK(row(R"({"metric": "stages[decode].utilization", "min": 0.29, "max": 0.57})").text ==
          "stages[decode].utilization is 98.2%; must be at least 29%, at most 57%");
    // Neither is a percentage of anything.
    CHECK(row(R"({"metric": "stages[decode].queue.capacity", "max": 1})").text ==
          "stages[decode].queue.capacity is 4; must be at most 1");
    CHECK(Has(row(R"({"metric": "findings[map-parallelism].recommendation.gain.predicted",
                      "max": 1})")
                  .text,
              "gain.predicted is 1.58 ("));
    // A figure that failed never reads as its limit.
    CHECK(Has(row(R"({"metric": "stages[decode].utilization", "max": 0.98195})").text,
              "is 98.2%; must be at most 98.195%"));
    CHECK(Has(row(R"({"metric": "verdict.confidence", "max": 0.9599})").text,
              "is 96%; must be at most 95.99%"));
  }

  TEST_CASE("a null and a row that is not there fail, and say so") {
    const report::Report report = test::InconclusiveReport();
    auto rows = Checked(R"({"metric": "breakdown.communication.fraction", "max": 1},
                           {"metric": "throughput.samples_per_s", "min": 1},
                           {"metric": "stages[Iterator::Mapp].utilization", "max": 1},
                           {"metric": "stages[Iterator::Map].queue.mean", "max": 1},
                           {"metric": "stall_blame[nobody].ns", "max": 1})",
                        report);
    for (const CheckRow& row : rows) {
      CAPTURE(row.text);
      CHECK(row.outcome == Outcome::kFail);
      CHECK_FALSE(row.value.has_value());
      CHECK(Has(row.text, "is null: "));
    }
    CHECK(Has(rows[0].text, "the trace does not say what a kernel is for"));
    CHECK(Has(rows[2].text, "nearest is 'Iterator::Map'"));
    CHECK(GateOf(rows) == Gate::kFailed);
  }

  TEST_CASE("a regression fails only where it is larger than the limit and real") {
    const report::Report report = test::InputBoundReport();
    compare::Comparison base = test::SlowerComparison();
    const auto with = [&](double ratio, double low, double high, const std::string& limit) {
      base.p_value.reset();
      base.throughput = compare::Change{100, 100 * ratio, ratio, low, high, true};
      return OutcomeOf(R"({"metric": "throughput.samples_per_s", "max_regression": )" + limit + "}",
                       report, &base);
    };
    CHECK(with(0.88, 0.86, 0.90, "0.05") == Outcome::kFail);
    CHECK(with(0.88, 0.86, 0.90, "0.2") == Outcome::kPass);
    CHECK(with(0.94, 0.93, 0.949, "0.05") == Outcome::kFail);
    // Slower for certain, but perhaps by less than the limit, or by more.
    CHECK(with(0.94, 0.90, 0.98, "0.05") == Outcome::kInconclusive);
    CHECK(with(0.814, 0.684, 0.984, "0.05") == Outcome::kInconclusive);
    CHECK(with(0.96, 0.93, 0.99, "0.05") == Outcome::kInconclusive);
    CHECK(with(0.96, 0.951, 0.99, "0.05") == Outcome::kPass);
    CHECK(with(0.94, 0.85, 1.02, "0.05") == Outcome::kInconclusive);
    CHECK(with(0.97, 0.80, 1.15, "0.05") == Outcome::kPass);  // noise is no loss
    CHECK(with(1.2, 1.1, 1.3, "0") == Outcome::kPass);
    base.throughput->bounded = false;
    base.throughput->ratio = 0.5;
    CHECK(OutcomeOf(R"({"metric": "throughput.samples_per_s", "max_regression": 0.05})", report,
                    &base) == Outcome::kInconclusive);
  }

  TEST_CASE("a throughput check and the comparison below it never disagree") {
    const report::Report report = test::InputBoundReport();
    for (const auto answer : {compare::Answer::kFaster, compare::Answer::kSlower,
                              compare::Answer::kNoRealChange, compare::Answer::kInconclusive}) {
      for (const double low : {0.70, 0.90, 0.94, 0.97, 0.99, 1.01}) {
        for (const double high : {0.93, 0.96, 0.985, 1.0, 1.1}) {
          if (low > high) continue;
          compare::Comparison base = test::SlowerComparison();
          base.answer = answer;
          const double ratio = (low + high) / 2;
          base.throughput = compare::Change{100, 100 * ratio, ratio, low, high, true};
          const CheckRow row =
              Checked(R"({"metric": "throughput.samples_per_s", "max_regression": 0.05})", report,
                      &base)
                  .at(0);
          CAPTURE(row.text);
          const bool inside = 1 - low <= 0.05;
          const bool beyond = 1 - high > 0.05;
          if (inside) CHECK(row.outcome == Outcome::kPass);
          if (row.outcome == Outcome::kFail) {
            CHECK(beyond);
            CHECK(answer != compare::Answer::kInconclusive);
          }
          const bool chance = answer == compare::Answer::kInconclusive || 1 - high <= 0;
          if (row.outcome == Outcome::kInconclusive) {
            CHECK(Has(row.text, chance ? "may be chance" : "the limit is within that interval"));
          }
        }
      }
    }
  }

  TEST_CASE("a figure whose interval is missing decides nothing") {
    report::Report report = test::InputBoundReport();
    report.throughput->bounded = false;
    report.breakdown[attribution::At(attribution::Category::kInputStall)]->bounded = false;
    const auto row = Checked(R"({"metric": "throughput.samples_per_s", "min": 1})", report).at(0);
    CHECK(row.outcome == Outcome::kInconclusive);
    CHECK(Has(row.text, ", of too few steps for an interval"));
    CHECK(OutcomeOf(R"({"metric": "breakdown.input_stall.fraction", "max": 0.0001})", report) ==
          Outcome::kInconclusive);
    CHECK(OutcomeOf(R"({"metric": "breakdown.input_stall.ns", "min": 1})", report) ==
          Outcome::kPass);
    report.step_ms->p95.reset();
    CHECK(OutcomeOf(R"({"metric": "step_time_ms.p95", "max": 1000})", report) == Outcome::kFail);
  }

  TEST_CASE("of times more is worse, what the comparison lacks fails") {
    const report::Report report = test::InputBoundReport();
    const compare::Comparison base = test::SlowerComparison();
    const auto with = [&](const std::string& metric, const std::string& limit) {
      return OutcomeOf(R"({"metric": ")" + metric + R"(", "max_regression": )" + limit + "}",
                       report, &base);
    };
    CHECK(with("step_time_ms.mean", "0.1") == Outcome::kFail);
    CHECK(with("step_time_ms.mean", "0.2") == Outcome::kPass);
    CHECK(with("step_time_ms.p99", "0.01") == Outcome::kInconclusive);
    CHECK(with("breakdown.input_stall.ns", "0.1") == Outcome::kFail);
    CHECK(with("breakdown.compute.ns", "0.02") == Outcome::kPass);
    CHECK(with("breakdown.communication.ns", "0.5") == Outcome::kInconclusive);
    CHECK(with("breakdown.sync.ns", "0.5") == Outcome::kFail);  // null
    CHECK(with("stages[decode].service_ms.mean", "0.1") == Outcome::kFail);
    CHECK(with("stages[gone].service_ms.mean", "0.1") == Outcome::kFail);
    const auto none = CheckBudget(Good(R"({"metric": "step_time_ms.mean", "max_regression": 0.1})"),
                                  report, nullptr);
    REQUIRE_FALSE(none.ok());
    CHECK(none.error().kind == ErrorKind::kUsage);
    CHECK(Has(none.error().Line(), "--base"));
  }

  TEST_CASE("a warning never decides, a failure counts more than not knowing") {
    const report::Report report = test::InputBoundReport();
    const std::string fails = R"({"metric": "breakdown.input_stall.fraction", "max": 0.05)";
    const std::string unsure = R"({"metric": "breakdown.input_stall.fraction", "max": 0.4)";
    const std::string warn = R"(, "level": "warn"})";
    CHECK(GateOf({}) == Gate::kHeld);
    CHECK(GateOf(Checked(fails + warn + "," + unsure + warn, report)) == Gate::kHeld);
    CHECK(GateOf(Checked(unsure + "}," + fails + warn, report)) == Gate::kInconclusive);
    CHECK(GateOf(Checked(unsure + "}," + fails + "}", report)) == Gate::kFailed);
  }
}
