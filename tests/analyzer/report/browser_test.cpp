#include <doctest/doctest.h>

#include <algorithm>

#include "analyzer/base/file.h"
#include "analyzer/report/describe.h"
#include "analyzer/report/html/html.h"
#include "tests/analyzer/report/sample_reports.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/skip.h"

using namespace stallscope;

namespace {

// What a browser's console says about the page; its document goes into `document`.
std::string Console(const std::string& page, std::string& document) {
  test::ScratchDir dir;
  REQUIRE(WriteFileAtomically(dir / "page.html", page).ok());
  const auto result = test::RunProgram(
      {"chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
       "--no-first-run", "--disable-extensions", "--user-data-dir=" + (dir / "profile"),
       "--enable-logging=stderr", "--dump-dom", "file://" + (dir / "page.html")});
  REQUIRE(result.exit_code == 0);
  document = result.out;
  std::string console;
  for (size_t at = 0; at < result.err.size();) {
    const size_t end = std::min(result.err.find('\n', at), result.err.size());
    const std::string line = result.err.substr(at, end - at);
    if (line.find("CONSOLE") != std::string::npos) console += line + "\n";
    at = end + 1;
  }
  return console;
}

}  // namespace

// A browser needs seconds to start.
TEST_SUITE("slow") {
  TEST_CASE("no table is cut in a window 800 pixels wide") {
    if (test::RunProgram({"sh", "-c", "command -v chromium"}).exit_code != 0) {
      return test::Skip("chromium is not installed");
    }
    std::string page = report::WriteHtml(report::DocumentOf(test::InputBoundReport()));
    // The page itself allows no scripts.
    const size_t policy = page.find("<meta http-equiv");
    REQUIRE(policy != std::string::npos);
    page.erase(policy, page.find('>', policy) + 1 - policy);
    page.insert(page.rfind("</body>"),
                "<script>for (const e of document.querySelectorAll('.scroll'))"
                " if (e.scrollWidth > e.clientWidth) console.log('cut')</script>");
    std::string document;
    CHECK(Console(page, document).empty());
  }

  TEST_CASE("a browser reports no problems with the page") {
    if (test::RunProgram({"sh", "-c", "command -v chromium"}).exit_code != 0) {
      return test::Skip("chromium is not installed");
    }
    std::string document;
    // That it would say something is worth knowing first.
    CHECK_FALSE(Console("<!doctype html><script>console.log('hello')</script>", document).empty());

    CHECK(
        Console(report::WriteHtml(report::DocumentOf(test::InputBoundReport())), document).empty());
    CHECK(document.find("input-bound: decode (cpu)") != std::string::npos);
    std::string hostile;
    for (const std::string& name : test::NastyTexts()) hostile += name;
    CHECK(Console(report::WriteHtml(report::DocumentOf(test::ReportNamed(hostile))), document)
              .empty());
    CHECK(document.find("<script") == std::string::npos);
    CHECK(document.find("<img") == std::string::npos);
  }
}
