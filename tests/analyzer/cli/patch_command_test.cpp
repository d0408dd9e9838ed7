// `stallscope patch`, and what the man page says of values.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <string>

#include "analyzer/base/file.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"

using namespace stallscope;
using test::Has;
using test::OneLine;
using test::RunProgram;
using test::RunStallscope;
using test::ScratchDir;

namespace {

constexpr const char* kPatch = R"([{"op":"set","path":"decode.parallelism","value":4},
 {"op":"remove","stage":"shuffle"}])";

std::string DecodeSpec() { return test::SourceDir() + "/sample_traces/specs/input_decode.json"; }

void CheckPatched(const std::string& text) {
  const auto spec = nlohmann::json::parse(text, nullptr, false);
  REQUIRE(spec.is_object());
  REQUIRE(spec["stages"].size() == 5);
  CHECK(spec["stages"][2]["map"]["parallelism"] == 4);
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("patch applies a pasted patch, a file, stdin, and several in order") {
    ScratchDir dir;
    REQUIRE(WriteFileAtomically(dir / "p.json", kPatch).ok());
    const std::string out = dir / "out.json";
    const auto pasted = RunStallscope({"patch", DecodeSpec(), kPatch, "-o", out});
    CHECK_MESSAGE(pasted.exit_code == 0, pasted.err);
    CHECK(pasted.out.empty());
    CheckPatched(ReadWholeFile(out, 1 << 20).value());
    CheckPatched(RunStallscope({"patch", DecodeSpec(), dir / "p.json"}).out);
    const std::string program = test::BuildDir() + "/bin/stallscope patch ";
    CheckPatched(
        RunProgram({"bash", "-c", program + DecodeSpec() + " - < " + (dir / "p.json")}).out);
    CheckPatched(RunStallscope({"patch", DecodeSpec(), R"({"op":"remove","stage":"shuffle"})",
                                R"( {"op":"set","path":"decode.parallelism","value":2})",
                                R"([{"op":"set","path":"decode.parallelism","value":4}])"})
                     .out);
  }

  TEST_CASE("patch applies what a report prints") {
    const std::string trace = test::SourceDir() + "/sample_traces/input_decode.sst";
    const auto report = RunStallscope({"analyze", trace, "--no-price", "--format", "json"});
    const auto tree = nlohmann::ordered_json::parse(report.out);
    const std::string text = RunStallscope({"analyze", trace, "--no-price"}).out;
    size_t applied = 0;
    for (const auto& finding : tree["findings"]) {
      if (finding["recommendation"].is_null()) continue;
      const auto& patch = finding["recommendation"]["patch"];
      if (patch.size() != 1) continue;
      CAPTURE(patch.dump());
      const size_t at = text.find("patch [" + patch[0].dump().substr(0, 12));
      CHECK(at != std::string::npos);
      ++applied;
    }
    CHECK(applied > 0);
    static const std::regex kPrinted(R"(patch (\[.*\])\n)");
    for (std::sregex_iterator found(text.begin(), text.end(), kPrinted), end; found != end;
         ++found) {
      const auto done = RunStallscope({"patch", DecodeSpec(), (*found)[1].str()});
      CHECK_MESSAGE(done.exit_code == 0, done.err);
    }
  }

  TEST_CASE("patch refuses with one line that says where") {
    ScratchDir dir;
    const auto refused = [&](const std::string& patch, int exit_code, const std::string& part) {
      const auto done = RunStallscope({"patch", DecodeSpec(), patch, "-o", dir / "out.json"});
      CAPTURE(done.err);
      CHECK(done.exit_code == exit_code);
      CHECK(OneLine(done.err));
      CHECK(Has(done.err, part));
    };
    refused(R"([{"op":"sat"}])", 2, "'set'");
    refused("[{", 2, "the pasted patch:1:");
    refused(R"({"op":"set","path":"decode.paralelism","value":4})", 2, "'decode.parallelism'");
    refused(R"({"op":"set","path":"decode.parallelism","value":0})", 2, "out of range");
    refused(R"({"op":"remove","stage":"read"})", 2, "patched spec");
    refused(dir / "none.json", 3, "none.json");
    CHECK(RunStallscope({"patch", dir / "none.json", kPatch}).exit_code == 3);
    CHECK(RunStallscope({"patch", DecodeSpec()}).exit_code == 2);
    CHECK(RunStallscope({"patch", DecodeSpec(), kPatch, "--outptu", "x"}).exit_code == 2);
    // Never onto an input.
    const std::string spec = dir / "spec.json";
    const std::string before = ReadWholeFile(DecodeSpec(), 1 << 20).value();
    REQUIRE(WriteFileAtomically(spec, before).ok());
    CHECK(RunStallscope({"patch", spec, kPatch, "-o", spec}).exit_code == 2);
    CHECK(ReadWholeFile(spec, 1 << 20).value() == before);
  }

  TEST_CASE("every command is in the help, the man page, the completions and the room's page") {
    const std::string help = RunStallscope({"--help"}).out;
    const std::string man = RunStallscope({"man"}).out;
    const std::string page =
        ReadWholeFile(test::SourceDir() + "/analyzer/cli/README.md", 1 << 20).value();
    static const std::regex kCommand(R"(\n  ([a-z]+) {2,})");
    size_t commands = 0;
    const std::string listed = help.substr(help.find("Commands:"));
    for (std::sregex_iterator found(listed.begin(), listed.end(), kCommand), end; found != end;
         ++found) {
      const std::string name = (*found)[1];
      CAPTURE(name);
      ++commands;
      CHECK(Has(man, "\n.SS " + name + "\n"));
      CHECK(Has(page, "`stallscope " + name));
      for (const char* shell : {"bash", "zsh", "fish"}) {
        CHECK(Has(RunStallscope({"completion", shell}).out, name));
      }
    }
    CHECK(commands >= 14);
    CHECK(Has(listed, "\n  patch "));
  }

  TEST_CASE("a flag takes no value in the man page, and what takes one says so") {
    const std::string man = RunStallscope({"man"}).out;
    for (const char* flag : {"verify", "help", "resume", "emulate", "yes", "quiet"}) {
      CAPTURE(flag);
      const std::string name = "\\fB\\-\\-" + std::string(flag) + "\\fR";
      REQUIRE(Has(man, name));
      CHECK_FALSE(Has(man, name + " \\fI"));
    }
    CHECK(Has(man, "\\fB\\-\\-no\\-price\\fR\n"));
    CHECK(Has(man, "\\fB\\-\\-vary\\fR \\fIVALUE\\fR"));
    CHECK(Has(man, "\\fB\\-\\-patch\\fR \\fIFILE\\fR\nFile with a patch of the spec"));
  }
}
