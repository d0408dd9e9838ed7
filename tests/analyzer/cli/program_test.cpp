#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "analyzer/base/file.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/skip.h"
#include "tests/support/trace_builder.h"

using namespace stallscope;  // NOLINT(google-build-using-namespace)
using test::Has;
using test::OneLine;
using test::RunProgram;
using test::RunStallscope;
using test::ScratchDir;

namespace {

// A run of 3 spans and 2 steps; gives the offsets of its frames and its end.
std::vector<uint64_t> WriteRun(const std::string& path) {
  test::TraceBuilder trace;
  const StageId decode = trace.Stage("decode", "map");
  const TrackId worker = trace.Thread("decode worker 0", decode);
  trace.Work(worker, decode, 1000, 2500, ItemId{7});
  trace.EndChunk();
  trace.Work(worker, decode, 3000, 3500, ItemId{8});
  trace.Work(worker, decode, 3500, 4500, ItemId{9});
  trace.rows().Add(trace::Step{0, 1000, 2000, 2500, 3000, ItemId{1}, worker, 32, 0});
  trace.rows().Add(trace::Step{1, 3000, 4000, 4500, 5000, ItemId{2}, worker, 32, 0});
  trace.Seal(9000);
  return trace.Write(path);
}

bool Have(const char* program) {
  return RunProgram({"sh", "-c", std::string("command -v ") + program}).exit_code == 0;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("info describes a trace as text and as JSON") {
    ScratchDir dir;
    WriteRun(dir / "r.sst");
    const auto text = RunStallscope({"info", dir / "r.sst"});
    CHECK(text.exit_code == 0);
    CHECK(text.err.empty());
    CHECK(text.out.find("complete: 3 spans, none dropped, no damage\n") == 0);
    CHECK(text.out.find("decode worker 0") != std::string::npos);
    CHECK(text.out.find('\x1b') == std::string::npos);

    const auto json = RunStallscope({"info", "--format", "json", dir / "r.sst"});
    CHECK(json.exit_code == 0);
    const auto info = nlohmann::json::parse(json.out);
    CHECK(info["format"] == "sst");
    CHECK(info["spans"] == 3);
    CHECK(info["steps"] == 2);
    CHECK(info["tracks"] == 1);
    CHECK(info["dropped"] == 0);
    CHECK(info["damaged_bytes"] == 0);
    CHECK(info["digest"].is_null());
    CHECK(info["sealed"] == true);
  }

  TEST_CASE("info keeps to 80 columns, whatever the names") {
    ScratchDir dir;
    test::TraceBuilder trace;
    const StageId stage = trace.Stage(std::string(300, 's'), std::string(300, 'k'));
    trace.Work(trace.Thread(std::string(300, 't'), stage), stage, 1, 2, ItemId{1});
    trace.Seal(3);
    trace.Write(dir / "r.sst");
    std::istringstream lines(RunStallscope({"info", dir / "r.sst"}).out);
    for (std::string line; std::getline(lines, line);) {
      std::erase_if(line, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; });
      CHECK(line.size() <= 80);
    }
  }

  TEST_CASE("names from a file cannot control the terminal or break a line") {
    ScratchDir dir;
    test::TraceBuilder trace;
    trace.run.name = "evil\x1b[2J\nname";
    trace.Stage("\xff\xfe");
    trace.Thread("tab\tand \xc2\x9b");
    trace.run.warnings = {"two\nlines \x1b[31m"};
    trace.Seal(3);
    trace.Write(dir / "r.sst");
    const auto result = RunStallscope({"info", dir / "r.sst"});
    CHECK(result.exit_code == 0);
    for (const std::string& text : {result.out, result.err}) {
      CHECK(text.find_first_of("\x1b\t\x7f") == std::string::npos);
      CHECK(text.find("\xc2\x9b") == std::string::npos);
    }
    CHECK(result.out.find("evil?[2J?name\n") != std::string::npos);
    CHECK(OneLine(result.err));
    const auto json = RunStallscope({"info", "--format", "json", dir / "r.sst"});
    CHECK(nlohmann::json::parse(json.out)["stages"][0]["name"] == "\ufffd\ufffd");
  }

  TEST_CASE("colors appear on a terminal unless NO_COLOR is set") {
    if (!Have("script")) return test::Skip("script, which gives a terminal, is not installed");
    ScratchDir dir;
    WriteRun(dir / "r.sst");
    const std::string command = test::BuildDir() + "/bin/stallscope info " + dir.path() + "/r.sst";
    const auto on_terminal = [&](const std::string& no_color) {
      return RunProgram({"script", "-qec", command, "/dev/null"}, {no_color, "TERM=xterm"}).out;
    };
    CHECK(on_terminal("NO_COLOR=").find("\x1b[") != std::string::npos);
    CHECK(on_terminal("NO_COLOR=1").find("\x1b[") == std::string::npos);
  }

  TEST_CASE("a link given with -o stays a link") {
    ScratchDir dir;
    WriteRun(dir / "r.sst");
    std::ofstream(dir / "real.csv") << "old";
    std::filesystem::create_symlink("real.csv", dir / "link");
    CHECK(
        RunStallscope({"export", dir / "r.sst", "--format", "csv", "-o", dir / "link"}).exit_code ==
        0);
    CHECK(std::filesystem::is_symlink(dir / "link"));
    CHECK(ReadWholeFile(dir / "real.csv", 1 << 20).value().find("track,") == 0);
  }

  TEST_CASE("a damaged trace is a warning with its offset, and the rest is shown") {
    ScratchDir dir;
    const auto offsets = WriteRun(dir / "r.sst");
    const uint64_t cut = offsets[2] + 40;
    std::filesystem::resize_file(dir / "r.sst", cut);
    const auto result = RunStallscope({"info", "--format", "json", dir / "r.sst"});
    CHECK(result.exit_code == 0);
    CHECK(result.err.find("warning") != std::string::npos);
    CHECK(result.err.find(std::to_string(offsets[2])) != std::string::npos);
    const auto info = nlohmann::json::parse(result.out);
    CHECK(info["spans"] == 1);
    CHECK(info["sealed"] == false);
    CHECK(info["cut_at"] == offsets[2]);
    CHECK(info["damaged_bytes"] == 40);
  }

  TEST_CASE("unreadable input exits 3, with one line that names the file") {
    ScratchDir dir;
    std::ofstream(dir / "text.sst") << "hello, this is no trace at all, only text\n";
    std::ofstream(dir / "empty.sst").flush();
    WriteRun(dir / "cut.sst");
    std::filesystem::resize_file(dir / "cut.sst", 20);
    for (const char* name : {"text.sst", "empty.sst", "cut.sst", "none.sst", "."}) {
      CAPTURE(name);
      const auto result = RunStallscope({"info", dir / name});
      CHECK(result.exit_code == 3);
      CHECK(result.out.empty());
      CHECK(OneLine(result.err));
      CHECK(result.err.find(dir / name) != std::string::npos);
    }
  }

  TEST_CASE("wrong usage exits 2, with one line and the nearest name") {
    const auto check = [](std::vector<std::string> arguments, const std::string& part) {
      CAPTURE(part);
      const auto result = RunStallscope(std::move(arguments));
      CHECK(result.exit_code == 2);
      CHECK(result.out.empty());
      CHECK(OneLine(result.err));
      CHECK(result.err.find(part) != std::string::npos);
    };
    check({"inof"}, "'info'");
    check({"info"}, "TRACE");
    check({"info", "a.sst", "--fromat", "json"}, "'--format'");
    check({"info", "a.sst", "b.sst"}, "b.sst");
    check({"info", "a.sst", "--format", "yaml"}, "json");
    check({"export", "a.sst"}, "--format");
    check({"export", "a.sst", "--format", "csv", "--what", "span"}, "spans");
    check({"completion", "tcsh"}, "bash");
    check({"doctor", "--format"}, "--format needs a value");
    check({"info", "a.sst", "--format", "yaml"},
          "invalid --format 'yaml'; choose one of text, json");
    check({"replay", "a.sst", "--repeats", "0"},
          "invalid --repeats '0'; give a number from 1 to 1000");
    check({"run", "--steps", "-1", "--", "true"},
          "invalid --steps '-1'; give a whole number, 0 or more");
    // Of the option, not of the knob that it sets.
    for (const std::string command : {"record", "replay", "tune"}) {
      check({command, "a.json", "--steps", "-1", "-o", "b.json"},
            "invalid --steps '-1'; give a number from 0 to 1000000000000");
    }
    check({"tune", "a.sst", "--memory", "-5", "-o", "b.json"}, "invalid --memory '-5'");
    check({"generate", "d", "--images", "many"}, "invalid --images 'many'; give a whole number");
    CHECK(RunStallscope({"zzzzzzzzzzzz"}).err.find("did you mean") == std::string::npos);
  }

  TEST_CASE("help and version go to stdout and exit 0") {
    CHECK(RunStallscope({"--help"}).out.find("export") != std::string::npos);
    CHECK(RunStallscope({"--version"}).out.find("stallscope ") == 0);
    for (const char* command : {"info", "export", "doctor", "completion", "man"}) {
      const auto help = RunStallscope({command, "--help"});
      CHECK(help.exit_code == 0);
      CHECK(help.err.empty());
      CHECK(help.out.find(command) != std::string::npos);
    }
  }

  TEST_CASE("help: the usage line has what must be given, options have choices and defaults") {
    const auto help = [](const char* command) {
      const std::string text = RunStallscope({command, "--help"}).out;
      for (const char* type : {"TEXT", "UINT", "REQUIRED"}) CHECK_FALSE(Has(text, type));
      return text;
    };
    const std::string compare = help("compare");
    CHECK(Has(compare, "Usage: stallscope compare --base TRACE... --new TRACE... [OPTIONS]\n"));
    CHECK(Has(compare, "--inconclusive pass|fail "));
    CHECK(Has(compare, "(default: fail)"));
    CHECK(Has(help("run"), "Usage: stallscope run [OPTIONS] -- COMMAND...\n"));
    CHECK(Has(help("replay"), "--vary VALUE "));
    CHECK(Has(help("replay"), "--repeats N "));
    CHECK(Has(RunStallscope({"--help"}).out, "Usage: stallscope COMMAND [OPTIONS]\n"));
    CHECK(Has(RunStallscope({"--help"}).out, "\nCommands:\n  generate "));
    // Not an empty group's line at the end either.
    CHECK(help("run").ends_with("Print errors only\n"));
  }

  TEST_CASE("help of analyze lists the metrics of budgets, and so does the man page") {
    for (const std::string& text :
         {RunStallscope({"analyze", "--help"}).out, RunStallscope({"man"}).out}) {
      CHECK(Has(text, "\n  throughput.{samples_per_s, low, high}\n"));
      CHECK(Has(text, "\n  stages[NAME].service_ms.{mean, p50, p95, p99}\n"));
      CHECK(Has(text, "\n  breakdown.{compute, "));
      CHECK(Has(text, "that a max_regression can have:\n  throughput.samples_per_s\n"));
    }
    CHECK_FALSE(Has(RunStallscope({"compare", "--help"}).out, "stages[NAME]"));
  }

  TEST_CASE("help fits 80 columns without breaking a word") {
    std::vector<std::vector<std::string>> calls = {{"--help"}};
    for (const char* command :
         {"generate", "record", "run", "analyze", "compare", "apply", "patch", "replay", "tune",
          "info", "import", "export", "view", "doctor", "completion", "man"}) {
      calls.push_back({command, "--help"});
    }
    for (const auto& call : calls) {
      const std::string help = RunStallscope(call).out;
      std::istringstream lines(help);
      for (std::string line; std::getline(lines, line);) CHECK_MESSAGE(line.size() <= 80, line);
    }
    CHECK(RunStallscope({"--help"}).out.find("inconclusive, 5 the run failed") !=
          std::string::npos);
  }

  TEST_CASE("an export goes to stdout, or to a complete file") {
    ScratchDir dir;
    WriteRun(dir / "r.sst");
    const auto direct = RunStallscope({"export", dir / "r.sst", "--format", "csv"});
    CHECK(direct.exit_code == 0);
    CHECK(direct.out.find("decode") != std::string::npos);
    const auto filed =
        RunStallscope({"export", dir / "r.sst", "--format", "csv", "-o", dir / "r.csv"});
    CHECK(filed.exit_code == 0);
    CHECK(filed.out.empty());
    CHECK(ReadWholeFile(dir / "r.csv", 1 << 20).value() == direct.out);

    const auto steps =
        RunStallscope({"export", dir / "r.sst", "--format", "csv", "--what", "steps"});
    CHECK(steps.out.find("step,start_ns,end_ns") == 0);

    const auto chrome = RunStallscope({"export", dir / "r.sst", "--format", "chrome"});
    CHECK(nlohmann::json::parse(chrome.out)["traceEvents"].size() > 4);

    const auto nowhere =
        RunStallscope({"export", dir / "r.sst", "--format", "csv", "-o", dir / "no/r.csv"});
    CHECK(nowhere.exit_code == 5);
    CHECK(OneLine(nowhere.err));
  }

  TEST_CASE("a trace is read through a pipe, too") {
    ScratchDir dir;
    WriteRun(dir / "r.sst");
    const std::string program = test::BuildDir() + "/bin/stallscope info /dev/stdin";
    const std::string trace = dir / "r.sst";
    for (const std::string& writer : {"cat " + trace, "gzip -c " + trace}) {
      const auto run = RunProgram({"bash", "-c", writer + " | " + program});
      CHECK_MESSAGE(run.exit_code == 0, writer << ": " << run.err);
      CHECK(test::Has(run.out, "complete: "));
    }
  }

  TEST_CASE("a reader that leaves early is no failure, a full disk is") {
    ScratchDir dir;
    WriteRun(dir / "r.sst");
    const std::string command =
        test::BuildDir() + "/bin/stallscope export --format csv " + dir.path() + "/r.sst";
    CHECK(RunProgram({"bash", "-c", "set -o pipefail; " + command + " | true"}).err.empty());
    const auto full = RunProgram({"bash", "-c", command + " > /dev/full"});
    CHECK(full.exit_code == 5);
    CHECK(OneLine(full.err));
    const auto device =
        RunStallscope({"export", "--format", "csv", dir / "r.sst", "-o", "/dev/null"});
    CHECK(device.exit_code == 0);
    CHECK(std::filesystem::is_character_file("/dev/null"));
  }

  TEST_CASE("each shell accepts its completion script") {
    ScratchDir dir;
    int tried = 0;
    for (const char* shell : {"bash", "zsh", "fish"}) {
      const auto script = RunStallscope({"completion", shell});
      CHECK(script.exit_code == 0);
      CHECK(script.out.find("doctor") != std::string::npos);
      REQUIRE(WriteFileAtomically(dir / shell, script.out).ok());
      if (!Have(shell)) continue;
      ++tried;
      const auto checked = RunProgram({shell, "-n", dir / shell});
      CAPTURE(shell);
      CHECK(checked.exit_code == 0);
      CHECK(checked.err.empty());
    }
    CHECK(tried > 0);
    // What bash offers after "stallscope info --format ".
    const auto offered =
        RunProgram({"bash", "-c",
                    "source " + (dir / "bash") +
                        "; COMP_WORDS=(stallscope info --format ''); COMP_CWORD=3; _stallscope; "
                        "echo ${COMPREPLY[@]}"});
    CHECK(offered.out == "text json\n");
  }

  TEST_CASE("man accepts the man page") {
    ScratchDir dir;
    const auto page = RunStallscope({"man"});
    CHECK(page.exit_code == 0);
    CHECK(page.out.find(".TH STALLSCOPE 1") == 0);
    if (!Have("man")) return test::Skip("man is not installed");
    REQUIRE(WriteFileAtomically(dir / "stallscope.1", page.out).ok());
    const auto shown = RunProgram({"man", "--warnings", "-l", dir / "stallscope.1"},
                                  {"MANWIDTH=100", "LC_ALL=C.UTF-8", "MAN_KEEP_FORMATTING="});
    CHECK(shown.exit_code == 0);
    CHECK(shown.err.empty());
    CHECK(shown.out.find("completion") != std::string::npos);
  }
}
