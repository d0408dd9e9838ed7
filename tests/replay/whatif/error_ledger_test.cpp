#include "replay/whatif/error_ledger.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/support/paths.h"

using stallscope::replay::AddToLedger;
using stallscope::replay::ErrorLedger;
using stallscope::replay::kJob;
using stallscope::replay::kOwnPipeline;
using stallscope::replay::VerifiedPrediction;
namespace test = stallscope::test;

namespace {

// Of a model whose half-width is 10%: off by `error` of it.
VerifiedPrediction Off(double error, const std::string& host = "here", int number = 0) {
  const double measured = 1000 + number;
  return {host, std::string(kOwnPipeline), measured * (1 + error), 0.1, measured};
}

// A state folder of its own for one case.
class OwnState {
 public:
  OwnState() : before_(getenv("XDG_STATE_HOME")) {
    setenv("XDG_STATE_HOME", dir_.path().c_str(), 1);
  }
  ~OwnState() { setenv("XDG_STATE_HOME", before_.c_str(), 1); }

 private:
  std::string before_;
  test::ScratchDir dir_;
};

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("without entries an interval is as wide as the model says") {
    CHECK(ErrorLedger().WideningFor("here", kOwnPipeline) == doctest::Approx(1));
  }

  TEST_CASE("errors of twice the half-width make the next interval about twice as wide") {
    ErrorLedger ledger;
    for (int i = 0; i < 100; ++i) ledger.Add(Off(i % 2 == 0 ? 0.21 : 0.01, "here", i));
    // ln 1.21 = 2 ln 1.1.
    CHECK(ledger.WideningFor("here", kOwnPipeline) == doctest::Approx(2).epsilon(0.01));
    // Another machine's errors, and a job's, are their own.
    CHECK(ledger.WideningFor("there", kOwnPipeline) == doctest::Approx(1));
    CHECK(ledger.WideningFor("here", kJob) == doctest::Approx(1));
  }

  TEST_CASE("one surprise in ten is what a 90% interval allows") {
    ErrorLedger ledger;
    for (int i = 0; i < 200; ++i) ledger.Add(Off(i % 20 == 0 ? 0.5 : 0.05, "here", i));
    CHECK(ledger.WideningFor("here", kOwnPipeline) < 1);
  }

  TEST_CASE("good predictions narrow the interval, the more of them the more") {
    double last = 1;
    for (const int count : {10, 100, 400}) {
      ErrorLedger ledger;
      for (int i = 0; i < count; ++i) ledger.Add(Off(0.02, "here", i));
      const double widening = ledger.WideningFor("here", kOwnPipeline);
      CHECK(widening <= last);
      CHECK(widening >= 0.4);
      last = widening;
    }
    CHECK(last == doctest::Approx(0.4));
  }

  TEST_CASE("a point that is found again is one entry; figures that are none are left out") {
    ErrorLedger ledger;
    ledger.Add(Off(0.1));
    ledger.Add(Off(0.1));
    CHECK(ledger.entries().size() == 1);
    ledger.Add(Off(0.2));
    CHECK(ledger.entries().size() == 2);
    ledger.Add({"here", "pipeline", 0, 0.1, 100});
    ledger.Add({"here", "pipeline", 100, 0, 100});
    ledger.Add({"here", "pipeline", 100, 0.1, -1});
    CHECK(ledger.entries().size() == 2);
  }

  TEST_CASE("the newest 500 are kept") {
    ErrorLedger ledger;
    for (int i = 0; i < 600; ++i) ledger.Add(Off(0.1, "here", i));
    REQUIRE(ledger.entries().size() == 500);
    CHECK(ledger.entries().front() == Off(0.1, "here", 100));
    CHECK(ledger.entries().back() == Off(0.1, "here", 599));
  }

  TEST_CASE("a ledger is read as it was written") {
    ErrorLedger ledger;
    ledger.Add(Off(0.1));
    ledger.Add(Off(-0.3, "there \"too\""));
    CHECK(ErrorLedger::Parse(ledger.Text()).entries() == ledger.entries());
  }

  TEST_CASE("damage costs the entries that it hit, and nothing else") {
    ErrorLedger ledger;
    ledger.Add(Off(0.1));
    ledger.Add(Off(0.2));
    std::string text = ledger.Text();
    CHECK(ErrorLedger::Parse("").entries().empty());
    CHECK(ErrorLedger::Parse("[1]").entries().empty());
    CHECK(ErrorLedger::Parse(text.substr(0, text.size() / 2)).entries().empty());
    CHECK(ErrorLedger::Parse(R"({"schema": "another", "predictions": []})").entries().empty());
    CHECK(ErrorLedger::Parse(R"({"schema": "stallscope.predictions/1", "predictions": 7})")
              .entries()
              .empty());
    text.replace(text.find("1000.0"), 6, "\"no\"");
    CHECK(ErrorLedger::Parse(text).entries().size() == 1);
  }

  TEST_CASE("the user's ledger grows from command to command, and starts anew where it is broken") {
    const OwnState state;
    CHECK(ErrorLedger::Load().entries().empty());
    REQUIRE(AddToLedger({Off(0.1)}).ok());
    REQUIRE(AddToLedger({Off(0.2)}).ok());
    CHECK(ErrorLedger::Load().entries().size() == 2);
    std::ofstream(ErrorLedger::Path()) << "{";
    CHECK(ErrorLedger::Load().entries().empty());
    REQUIRE(AddToLedger({Off(0.3)}).ok());
    CHECK(ErrorLedger::Load().entries().size() == 1);
  }

  TEST_CASE("a summary has this machine's errors alone") {
    ErrorLedger ledger;
    for (const double error : {0.01, -0.02, 0.5}) ledger.Add(Off(error));
    ledger.Add(Off(3, "there"));
    const auto summary = ledger.SummaryOf("here", kOwnPipeline);
    CHECK(summary.entries == 3);
    CHECK(summary.median_error == doctest::Approx(0.02));
    CHECK(ledger.SummaryOf("nowhere", kOwnPipeline).entries == 0);
  }
}
