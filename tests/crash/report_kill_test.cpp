// A report killed while being written leaves the old one or the new one.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <random>
#include <string>
#include <thread>

#include "analyzer/base/clock.h"
#include "analyzer/base/file.h"
#include "tests/support/paths.h"

using stallscope::MonotonicNs;
using stallscope::test::BuildDir;
using stallscope::test::ScratchDir;
using stallscope::test::SourceDir;

namespace {

pid_t StartAnalyze(const std::string& trace, const std::string& report) {
  const std::string program = BuildDir() + "/bin/stallscope";
  const pid_t child = fork();
  if (child != 0) return child;
  dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
  execl(program.c_str(), program.c_str(), "analyze", trace.c_str(), "--no-price", "--format",
        "html", "-o", report.c_str(), nullptr);
  _exit(127);
}

std::string Content(const std::string& path) {
  auto content = stallscope::ReadWholeFile(path, 1 << 24);
  return content.ok() ? std::move(content).value() : std::string();
}

void KillReports(int kills) {
  ScratchDir dir;
  const std::string report = dir / "report.html";
  const std::array<std::string, 2> traces = {SourceDir() + "/sample_traces/input_decode.sst",
                                             SourceDir() + "/sample_traces/transfer.sst"};
  std::array<std::string, 2> whole;
  int64_t usual_ns = 0;  // of the latest run that was left to end: the machine's load changes
  for (size_t i = 0; i < traces.size(); ++i) {
    const int64_t start = MonotonicNs();
    int status = 0;
    REQUIRE(waitpid(StartAnalyze(traces[i], report), &status, 0) > 0);
    REQUIRE(status == 0);
    usual_ns = MonotonicNs() - start;
    whole[i] = Content(report);
    REQUIRE(whole[i].size() > 1000);
  }
  REQUIRE(whole[0] != whole[1]);
  // The report is written late in the run: later moments are the interesting ones.
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> moment(0.5, 1.25);
  size_t there = 1;  // which of them the file holds
  int replaced = 0;
  for (int killed = 0; killed < kills;) {
    const size_t next = 1 - there;
    const pid_t child = StartAnalyze(traces[next], report);
    const int64_t start = MonotonicNs();
    const int64_t until =
        start + static_cast<int64_t>(static_cast<double>(usual_ns) * moment(random));
    bool ended = false;
    while (!ended && MonotonicNs() < until) {
      ended = waitpid(child, nullptr, WNOHANG) == child;
      std::this_thread::yield();
    }
    if (ended) {
      usual_ns = MonotonicNs() - start;
    } else {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
      ++killed;
    }
    const std::string left = Content(report);
    const bool is_new = left == whole[next];
    REQUIRE((is_new || left == whole[there]));
    if (is_new) there = next;
    replaced += is_new ? 1 : 0;
  }
  MESSAGE(kills << " kills, " << replaced << " reports in their place");
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a killed report leaves the old one or the new one") { KillReports(20); }
}

TEST_SUITE("slow") {
  TEST_CASE("500 killed reports leave the old one or the new one") { KillReports(500); }
}
