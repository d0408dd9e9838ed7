#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/skip.h"
#include "tests/support/trace_builder.h"

using namespace stallscope;  // NOLINT(google-build-using-namespace)
using test::RunProgram;
using test::RunStallscope;
using test::ScratchDir;

namespace {

// Each is an order to a reader of one form or another.
const std::vector<std::string> kHostile = {
    "=HYPERLINK(\"http://evil.example\",\"x\")",
    "@SUM(1+1)*cmd|' /C calc'!A0, \"y\"",
    "\x1b]0;owned\x07\x1b[2J\r\nforged: line\t\b",
    "]]><!-- </script><script>alert(1)</script> & <b1 onload='x'> \"",
    "\\|[l](javascript:alert(1))|![i](http://e) ```` <img src=x onerror=alert(1)> @me #1",
    "\u202e\u2066 \u009b2J \u2028 \ufffe \u200b",
    "\xff\xc0\xaf\xed\xa0\x80 \xe6\x95",
    "- list\n# head\n\n| a | b |\n|---|---|",
};

std::string Hostile(size_t i) { return kHostile[i % kHostile.size()]; }

// Forty steps that wait for the stages, and in which every text that a trace can hold is hostile.
void WriteRun(const std::string& path, int64_t slower_ns) {
  constexpr int64_t kStep = 10'000'000;
  test::TraceBuilder trace;
  std::string all;
  for (const std::string& text : kHostile) all += text;
  trace.run.name = all;
  trace.run.tool = Hostile(0);
  trace.run.command_line = kHostile;
  trace.run.host.name = all;
  trace.run.host.cpu = all;
  trace.run.host.kernel = Hostile(2);
  trace.run.host.cores_online = 4;
  trace.run.device = {Hostile(3), Hostile(4), 0, ""};
  trace.run.digest = Hostile(0);
  trace.run.warnings = kHostile;
  std::vector<StageId> stages;
  std::vector<TrackId> workers;
  std::vector<QueueId> queues;
  for (size_t i = 0; i < kHostile.size(); ++i) {
    std::vector<StageId> inputs;
    if (i > 0) inputs.push_back(stages.back());
    stages.push_back(trace.Stage(Hostile(i), Hostile(i + 1), 1, inputs));
    queues.push_back(trace.Queue(Hostile(i + 2), 4, stages.back()));
    workers.push_back(trace.Thread(Hostile(i), stages.back()));
  }
  const TrackId trainer = trace.Thread(Hostile(3));
  const TrackId stream = trace.Stream(Hostile(4));
  const CounterId counter = trace.Counter(Hostile(0), Hostile(1));
  for (int64_t step = 0; step < 40; ++step) {
    const int64_t from = kStep * (step + 1) + slower_ns * step;
    for (size_t i = 0; i < stages.size(); ++i) {
      trace.Work(workers[i], stages[i], from, from + 6'000'000 + slower_ns,
                 ItemId{static_cast<uint64_t>(step)});
    }
    trace.Wait(trainer, trace::WaitCause::kEmpty, queues.back(), from, from + 6'000'000);
    trace.rows().Add(trace::Kernel{step,
                                   from + 7'000'000,
                                   from + 8'000'000,
                                   {},
                                   2,
                                   0,
                                   stream,
                                   trace.Text(Hostile(static_cast<size_t>(step)))});
    trace.rows().Add(trace::Sample{from, 1.5, counter});
    trace.Step(static_cast<uint64_t>(step), from, from + kStep + slower_ns - 1'000'000, trainer);
  }
  trace.Seal(kStep * 50 + slower_ns * 50);
  trace.Write(path);
}

const std::vector<std::pair<std::string, std::string>> kForms = {
    {"text", "txt"},  {"json", "json"}, {"markdown", "md"},
    {"html", "html"}, {"junit", "xml"}, {"sarif", "sarif"}};

// Every form of every command, into `out`; returns what stderr had.
std::string WriteAll(const std::string& base, const std::string& now, const std::string& out) {
  std::string err;
  const auto run = [&](std::vector<std::string> arguments, const std::string& file) {
    const auto result = RunStallscope(std::move(arguments));
    CAPTURE(result.err);
    // 1 and 4: the second run is slower, or that is not certain.
    CHECK((result.exit_code == 0 || result.exit_code == 1 || result.exit_code == 4));
    CHECK_FALSE(result.out.empty());
    std::ofstream(out + "/" + file, std::ios::binary) << result.out;
    err += result.err;
  };
  for (const auto& [form, ending] : kForms) {
    run({"analyze", now, "--format", form}, "analyze." + ending);
    run({"compare", "--base", base, "--new", now, "--format", form}, "compare." + ending);
  }
  run({"info", now}, "info.txt");
  run({"info", now, "--format", "json"}, "info.json");
  run({"export", now, "--format", "chrome"}, "chrome.json");
  for (const std::string what : {"spans", "steps", "counters"}) {
    for (const std::string form : {"csv", "jsonl"}) {
      run({"export", now, "--format", form, "--what", what}, what + "." + form);
    }
  }
  return err;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("hostile names: other parsers read every form, and none controls a terminal") {
    if (RunProgram({"sh", "-c", "command -v python3"}).exit_code != 0) {
      return test::Skip("python3 is not installed");
    }
    const ScratchDir dir;
    const std::string folder = dir / "=1+1\x1b[2J]]><b>\u202e";
    const std::string out = dir / "out";
    std::filesystem::create_directories(folder);
    std::filesystem::create_directories(out);
    WriteRun(folder + "/base.sst", 0);
    WriteRun(folder + "/`a|b`\nforged.sst", 3'000'000);
    std::string err = WriteAll(folder + "/base.sst", folder + "/`a|b`\nforged.sst", out);
    CHECK(err.find("warning: ") != std::string::npos);
    err += RunStallscope({"analyze", folder + "/not\nforged\x1b.sst"}).err;
    err += RunStallscope({"analyze", "\xff\u009b", "--forged\n\x1b"}).err;
    std::ofstream(out + "/stderr.txt", std::ios::binary) << err;
    const auto read =
        RunProgram({"python3", test::SourceDir() + "/tests/analyzer/cli/second_parsers.py", out});
    CAPTURE(read.err);
    CHECK(read.err.empty());
    CHECK(read.exit_code == 0);

    // Shown, not swallowed: whoever reads the JSON has the names as they were.
    std::ifstream file(out + "/info.json");
    const auto stages = nlohmann::json::parse(file)["stages"];
    REQUIRE(stages.size() == kHostile.size());
    for (size_t i = 0; i < kHostile.size(); ++i) {
      if (i != 6) CHECK(stages[i]["name"] == kHostile[i]);
    }
    CHECK(stages[6]["name"] == "\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd \ufffd");
  }
}
