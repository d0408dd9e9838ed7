#include "analyzer/report/junit.h"

#include <fmt/core.h>

#include <vector>

#include "analyzer/base/escape.h"
#include "analyzer/report/describe.h"
#include "analyzer/report/text.h"

namespace stallscope::report {
namespace {

enum class State { kPassed, kFailed, kError, kSkipped };

struct Case {
  std::string class_name;
  std::string name;
  State state = State::kPassed;
  std::string text;  // why it did not pass
  std::string output;
};

std::string CaseXml(const Case& test) {
  std::string xml = fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"0\"",
                                EscapeMarkup(test.class_name), EscapeMarkup(test.name));
  std::string inside;
  const std::string message = EscapeMarkup(test.text);
  if (test.state == State::kFailed) {
    inside += fmt::format("      <failure type=\"budget\" message=\"{}\">{}</failure>\n", message,
                          message);
  } else if (test.state == State::kError) {
    inside += fmt::format("      <error type=\"inconclusive\" message=\"{}\">{}</error>\n", message,
                          message);
  } else if (test.state == State::kSkipped) {
    inside += fmt::format("      <skipped message=\"{}\"/>\n", message);
  }
  if (!test.output.empty()) {
    inside += "      <system-out>" + EscapeMarkupLines(test.output) + "</system-out>\n";
  }
  return inside.empty() ? xml + "/>\n" : xml + ">\n" + inside + "    </testcase>\n";
}

std::string Suite(const std::string& name, const std::vector<Case>& cases,
                  const std::string& output) {
  size_t failures = 0;
  size_t errors = 0;
  size_t skipped = 0;
  std::string inside;
  for (const Case& test : cases) {
    failures += test.state == State::kFailed ? 1U : 0U;
    errors += test.state == State::kError ? 1U : 0U;
    skipped += test.state == State::kSkipped ? 1U : 0U;
    inside += CaseXml(test);
  }
  const std::string counts =
      fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"", cases.size(),
                  failures, errors, skipped);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"stallscope\" {} time=\"0\">\n"
      "  <testsuite name=\"{}\" {} time=\"0\">\n{}    <system-out>{}</system-out>\n"
      "  </testsuite>\n</testsuites>\n",
      counts, EscapeMarkup(name), counts, inside, EscapeMarkupLines(output));
}

Case CheckCase(const CheckRow& check, bool inconclusive_fails) {
  const bool error = check.level == CheckLevel::kError;
  Case test{"stallscope.budget", check.metric + " " + check.limit, State::kPassed, check.text, ""};
  if (check.outcome == Outcome::kPass) {
    test.output = check.text;
  } else if (check.outcome == Outcome::kFail) {
    test.state = error ? State::kFailed : State::kPassed;
    if (!error) test.output = "warning: " + check.text;
  } else {
    test.state = error && inconclusive_fails ? State::kError : State::kSkipped;
  }
  return test;
}

std::vector<Case> CasesWithoutBudget(const Report& report) {
  const bool certain = report.verdict.bound != findings::Bound::kInconclusive;
  std::vector<Case> cases{{"stallscope.verdict", report.verdict.text,
                           certain ? State::kPassed : State::kSkipped, report.verdict.text, ""}};
  for (const FindingRow& finding : report.findings) {
    if (finding.severity != findings::Severity::kHigh) continue;
    std::string output = finding.text;
    if (finding.recommendation) output += "\n" + finding.recommendation->text;
    cases.push_back({"stallscope.findings", finding.id, State::kPassed, "", output});
  }
  return cases;
}

}  // namespace

std::string WriteJunit(const Report& report, bool inconclusive_fails) {
  std::vector<Case> cases;
  if (report.budget.has_value()) {
    for (const CheckRow& check : *report.budget) {
      cases.push_back(CheckCase(check, inconclusive_fails));
    }
  } else {
    cases = CasesWithoutBudget(report);
  }
  return Suite(report.trace, cases, WriteText(DocumentOf(report)));
}

std::string WriteJunit(const compare::Comparison& comparison, bool inconclusive_fails) {
  Case test{"stallscope.compare", "new against base", State::kPassed, comparison.text, ""};
  if (comparison.answer == compare::Answer::kSlower) test.state = State::kFailed;
  if (comparison.answer == compare::Answer::kInconclusive) {
    test.state = inconclusive_fails ? State::kError : State::kSkipped;
  }
  return Suite("compare", {test}, WriteText(DocumentOf(comparison)));
}

}  // namespace stallscope::report
