// Which form goes into which file, of every command that writes one.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "analyzer/base/file.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"

using namespace stallscope;
using test::Has;
using test::OneLine;
using test::ProgramResult;
using test::RunStallscope;
using test::ScratchDir;

namespace {

std::string SampleRun() { return test::SourceDir() + "/sample_traces/transfer.sst"; }

// By its first bytes; empty where there is no such file.
std::string FormIn(const std::string& path) {
  const auto read = ReadWholeFile(path, 1 << 24);
  if (!read.ok()) return "";
  const std::string& text = read.value();
  if (text.starts_with("<!doctype html>")) return "html";
  if (text.starts_with("<?xml")) return "junit";
  if (text.starts_with("## ")) return "markdown";
  if (!text.starts_with("{")) return "text";
  return Has(text.substr(0, 200), "sarif-2.1.0") ? "sarif" : "json";
}

struct Wanted {
  std::string options;             // F: a folder
  std::vector<std::string> forms;  // "z.html is html"; none: wrong usage
};

std::vector<std::string> WordsIn(const std::string& text, const std::string& folder) {
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    std::string word = text.substr(at, end - at);
    if (word.starts_with("F/")) word = folder + word.substr(1);
    words.push_back(std::move(word));
    at = end + 1;
  }
  return words;
}

// Of `command` and each row's options.
void CheckForms(const std::vector<std::string>& command, const std::vector<Wanted>& rows) {
  for (const Wanted& row : rows) {
    CAPTURE(row.options);
    ScratchDir dir;
    std::vector<std::string> arguments = command;
    for (std::string& word : WordsIn(row.options, dir.path())) arguments.push_back(std::move(word));
    const ProgramResult done = RunStallscope(arguments);
    if (row.forms.empty()) {
      CHECK(done.exit_code == 2);
      CHECK(OneLine(done.err));
      CHECK(std::filesystem::is_empty(dir.path()));
      continue;
    }
    CHECK(done.exit_code == 0);
    for (const std::string& wanted : row.forms) {
      const auto words = WordsIn(wanted, "");
      CHECK_MESSAGE(FormIn(dir / words[0]) == words[2], wanted);
    }
  }
}

const std::vector<Wanted>& ReportForms() {
  static const std::vector<Wanted> kRows = {
      // The --format beside a file, on either side.
      {"--format html -o F/z.html", {"z.html is html"}},
      {"-o F/z.html --format html", {"z.html is html"}},
      {"-o F/z --format json", {"z is json"}},
      {"--format json -o F/z.html", {"z.html is json"}},
      {"--format text --format html -o F/r", {"r is html"}},
      {"--format html -o F/a --format json -o F/b", {"a is html", "b is json"}},
      {"-o F/a --format html -o F/b --format json", {"a is html", "b is json"}},
      {"-o F/a.html --format html -o F/b.json", {"a.html is html", "b.json is json"}},
      {"--format html -o F/a -o F/b.json", {"a is html", "b.json is json"}},
      {"-o F/a.md --format html -o F/b", {"a.md is markdown", "b is html"}},
      // Else its name.
      {"-o F/z.html", {"z.html is html"}},
      {"-o F/z.htm", {"z.htm is html"}},
      {"-o F/z.md", {"z.md is markdown"}},
      {"-o F/z.json", {"z.json is json"}},
      {"-o F/z.xml", {"z.xml is junit"}},
      {"-o F/z.sarif", {"z.sarif is sarif"}},
      {"-o F/z.sarif.json", {"z.sarif.json is sarif"}},
      {"-o F/z.txt", {"z.txt is text"}},
      {"-o F/z", {"z is text"}},
      {"-o F/a.html -o F/b.xml", {"a.html is html", "b.xml is junit"}},
      // Neither, or both ways.
      {"-o F/z.pdf", {}},
      {"-o F/a.html --format json -o F/b.html", {}},
      {"--format json --format html", {}},
      {"--format json -o F/a --format html -o F/a", {}},
      {"--format html -o F/a.html -o F/b.pdf", {}},
  };
  return kRows;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("analyze: a file's form comes from the --format beside it, else from its name") {
    CheckForms({"analyze", SampleRun(), "--no-price"}, ReportForms());
  }

  TEST_CASE("compare: a file's form comes from the --format beside it, else from its name") {
    CheckForms({"compare", "--base", SampleRun(), "--new", SampleRun()}, ReportForms());
  }

  TEST_CASE("export: without a --format the name tells it") {
    ScratchDir dir;
    const auto exported = [&](const std::string& name) {
      const auto done = RunStallscope({"export", SampleRun(), "--what", "steps", "-o", dir / name});
      CHECK_MESSAGE(done.exit_code == 0, done.err);
      return ReadWholeFile(dir / name, 1 << 24).value();
    };
    CHECK(exported("s.csv").starts_with("step,"));
    CHECK(exported("s.jsonl").starts_with("{\"step\""));
    CHECK(exported("s.json").starts_with("{"));
    for (const std::string name : {"s", "s.txt", ""}) {
      std::vector<std::string> arguments{"export", SampleRun()};
      if (!name.empty()) arguments.insert(arguments.end(), {"-o", dir / name});
      const auto done = RunStallscope(arguments);
      CHECK(done.exit_code == 2);
      CHECK(OneLine(done.err));
      CHECK(Has(done.err, "--format"));
    }
    const auto given =
        RunStallscope({"export", SampleRun(), "-o", dir / "x.json", "--format", "csv"});
    CHECK(given.exit_code == 0);
    CHECK(ReadWholeFile(dir / "x.json", 1 << 24).value().starts_with("track,"));
  }

  TEST_CASE("replay: the sweep file is JSON, a report's name tells its form") {
    ScratchDir dir;
    const auto replay = [&](const std::vector<std::string>& more) {
      std::vector<std::string> arguments{
          "replay", SampleRun(), "--vary", "transfer.overlap=true,false", "--mode", "simulate"};
      arguments.insert(arguments.end(), more.begin(), more.end());
      return RunStallscope(arguments);
    };
    CHECK(replay({"-o", dir / "s.json", "--report", dir / "s.html", "--report", dir / "s.markdown"})
              .exit_code == 0);
    CHECK(FormIn(dir / "s.json") == "json");
    CHECK(FormIn(dir / "s.html") == "html");
    CHECK(FormIn(dir / "s.markdown") == "markdown");
    for (const auto& wrong : std::vector<std::vector<std::string>>{
             {"-o", dir / "t.html"}, {"-o", dir / "t.json", "--report", dir / "t.json"}}) {
      const auto done = replay(wrong);
      CHECK(done.exit_code == 2);
      CHECK(OneLine(done.err));
    }
    CHECK_FALSE(std::filesystem::exists(dir / "t.html"));
  }
}
