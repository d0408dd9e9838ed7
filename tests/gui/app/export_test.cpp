// The desktop program where there is no desktop.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>
#include <string>

#include "analyzer/base/file.h"
#include "collectors/data/png.h"
#include "gui/session/panel.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/skip.h"

using namespace stallscope;  // NOLINT(google-build-using-namespace)
using test::ProgramResult;

namespace {

const std::vector<std::string> kNoDisplay = {"DISPLAY=", "WAYLAND_DISPLAY="};

ProgramResult RunGui(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), test::BuildDir() + "/bin/stallscope-gui");
  return test::RunProgram(arguments, kNoDisplay);
}

std::string Sample(const std::string& name) {
  return test::SourceDir() + "/sample_traces/" + name + ".sst";
}

bool IsOneLine(const std::string& text) {
  return !text.empty() && text.find('\n') == text.size() - 1;
}

class Folder {
 public:
  Folder() : path_(test::BuildDir() + "/gui_export_test_" + std::to_string(::getpid())) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("every panel exports as PNG and SVG without a display") {
    const Folder folder;
    for (const session::Panel panel : session::kAllPanels) {
      const std::string word(session::WordFor(panel));
      CAPTURE(word);
      const std::string png = folder / word + ".png";
      const ProgramResult drawn = RunGui({"--export-png", word, png, Sample("input_decode")});
      CHECK(drawn.exit_code == 0);
      CHECK(drawn.err.empty());
      const auto bytes = ReadWholeFile(png, 1 << 24);
      REQUIRE(bytes.ok());
      const auto header = data::ReadPngHeader(data::AsBytes(bytes.value()));
      REQUIRE(header.ok());
      CHECK(header.value().width == 1280);
      CHECK(header.value().height == 800);

      const std::string svg = folder / word + ".svg";
      CHECK(RunGui({"--export-svg", word, svg, Sample("input_decode")}).exit_code == 0);
      const auto page = ReadWholeFile(svg, 1 << 26);
      REQUIRE(page.ok());
      CHECK(page.value().rfind("<?xml", 0) == 0);
      CHECK(page.value().find("</svg>") != std::string::npos);
      // The spec that is edited is not one of the trace's.
      const bool of_trace = panel != session::Panel::kRecord;
      CHECK(page.value().find(std::string(session::TitleOf(panel)) +
                              (of_trace ? " of input_decode.sst<" : "<")) != std::string::npos);
    }
  }

  TEST_CASE("the overview's picture contains the verdict") {
    const Folder folder;
    const std::string svg = folder / "overview.svg";
    REQUIRE(RunGui({"--export-svg", "overview", svg, Sample("input_decode")}).exit_code == 0);
    const auto page = ReadWholeFile(svg, 1 << 26);
    REQUIRE(page.ok());
    CHECK(page.value().find(">input-bound: decode (cpu)<") != std::string::npos);
  }

  TEST_CASE("scale, theme and size change the picture") {
    const Folder folder;
    const std::string png = folder / "large.png";
    REQUIRE(RunGui({"--export-png", "overview", png, Sample("transfer"), "--scale", "2", "--theme",
                    "dark", "--size", "1000x700"})
                .exit_code == 0);
    const auto bytes = ReadWholeFile(png, 1 << 26);
    REQUIRE(bytes.ok());
    const auto header = data::ReadPngHeader(data::AsBytes(bytes.value()));
    REQUIRE(header.ok());
    CHECK(header.value().width == 2000);
    CHECK(header.value().height == 1400);
  }

  TEST_CASE("no display: one line, exit code 5") {
    const ProgramResult result = RunGui({Sample("input_decode")});
    CHECK(result.exit_code == 5);
    CHECK(result.out.empty());
    CHECK(IsOneLine(result.err));
    CHECK(result.err.find("display") != std::string::npos);
    CHECK(result.err.find("--export-png") != std::string::npos);
  }

  TEST_CASE("unreadable trace: one line, exit code 3, no file") {
    const Folder folder;
    const std::string png = folder / "none.png";
    for (const std::string& trace :
         {std::string("/no/such/trace.sst"), test::SourceDir() + "/LICENSE"}) {
      const ProgramResult result = RunGui({"--export-png", "overview", png, trace});
      CHECK(result.exit_code == 3);
      CHECK(IsOneLine(result.err));
      CHECK_FALSE(std::filesystem::exists(png));
    }
  }

  TEST_CASE("a damaged trace is drawn with its trust line") {
    const Folder folder;
    const auto whole = ReadWholeFile(Sample("input_decode"), 1 << 24);
    REQUIRE(whole.ok());
    const std::string cut = folder / "cut.sst";
    REQUIRE(WriteFileAtomically(cut, whole.value().substr(0, whole.value().size() * 3 / 4)).ok());
    const std::string svg = folder / "cut.svg";
    REQUIRE(RunGui({"--export-svg", "overview", svg, cut}).exit_code == 0);
    const auto page = ReadWholeFile(svg, 1 << 26);
    REQUIRE(page.ok());
    // The light theme's red, which nothing that is well has.
    CHECK(page.value().find("fill=\"#bf2a1e\">") != std::string::npos);
  }

  TEST_CASE("unwritable file: one line, exit code 5") {
    const ProgramResult result =
        RunGui({"--export-png", "overview", "/no/such/folder/a.png", Sample("transfer")});
    CHECK(result.exit_code == 5);
    CHECK(IsOneLine(result.err));
  }

  TEST_CASE("a picture never overwrites its trace or a device") {
    const Folder folder;
    const std::string trace = folder / "run.sst";
    std::filesystem::copy_file(Sample("transfer"), trace);
    const std::string bytes = ReadWholeFile(trace, 1 << 24).value();
    std::filesystem::create_symlink(trace, folder / "soft");
    std::filesystem::create_hard_link(trace, folder / "hard");
    for (const std::string& file :
         {trace, folder / "soft", folder / "hard", std::string("/dev/null")}) {
      CAPTURE(file);
      for (const char* option : {"--export-png", "--export-svg"}) {
        const ProgramResult result = RunGui({option, "overview", file, trace});
        CHECK(result.exit_code == (file == "/dev/null" ? 5 : 2));
        CHECK(IsOneLine(result.err));
      }
    }
    CHECK(ReadWholeFile(trace, 1 << 24).value() == bytes);
    CHECK(std::filesystem::is_symlink(folder / "soft"));
    CHECK(std::filesystem::is_character_file("/dev/null"));
    // An earlier picture is no input.
    CHECK(RunGui({"--export-png", "overview", folder / "a.png", trace}).exit_code == 0);
    CHECK(RunGui({"--export-png", "overview", folder / "a.png", trace}).exit_code == 0);
  }

  TEST_CASE("usage error: one line, exit code 2") {
    for (const std::vector<std::string>& arguments :
         std::vector<std::vector<std::string>>{{"--no-such-option"},
                                               {"--export-png", "overview", "a.png"},
                                               {"--export-png", "overvew", "a.png", "a.sst"},
                                               {"--theme", "blue"},
                                               {"--size", "12"}}) {
      CAPTURE(arguments[0]);
      const ProgramResult result = RunGui(arguments);
      CHECK(result.exit_code == 2);
      CHECK(IsOneLine(result.err));
    }
    CHECK(test::Has(RunGui({"--exprot-png"}).err, "did you mean '--export-png'?"));
    CHECK(test::Has(RunGui({"--scale", "9"}).err,
                    "invalid --scale '9'; give a number from 0.5 to 4"));
    CHECK(test::Has(RunGui({"--export-png", "overview", "a.png"}).err,
                    "--export-png needs PANEL FILE TRACE"));
  }

  TEST_CASE("help and version need no display") {
    const ProgramResult help = RunGui({"--help"});
    CHECK(help.exit_code == 0);
    CHECK(help.out.find("Usage: stallscope-gui [OPTIONS] [TRACE...]\n") != std::string::npos);
    CHECK(help.out.find("--export-png PANEL FILE TRACE ") != std::string::npos);
    CHECK(help.out.find("--theme dark|light ") != std::string::npos);
    CHECK(help.out.find("overview timeline pipeline stalls steps findings") != std::string::npos);
    std::istringstream lines(help.out);
    for (std::string line; std::getline(lines, line);) CHECK_MESSAGE(line.size() <= 80, line);
    const ProgramResult version = RunGui({"--version"});
    CHECK(version.exit_code == 0);
    CHECK(version.out.rfind("stallscope-gui ", 0) == 0);
  }

  TEST_CASE("the window's man page has every option of its help, and man accepts it") {
    const ProgramResult page = RunGui({"--man"});
    CHECK(page.exit_code == 0);
    CHECK(page.out.rfind(".TH STALLSCOPE\\-GUI 1", 0) == 0);
    if (test::RunProgram({"sh", "-c", "command -v man"}).exit_code != 0) {
      return test::Skip("man is not installed");
    }
    const Folder folder;
    REQUIRE(WriteFileAtomically(folder / "stallscope-gui.1", page.out).ok());
    const ProgramResult shown =
        test::RunProgram({"man", "--warnings", "-l", folder / "stallscope-gui.1"},
                         {"MANWIDTH=1000", "LC_ALL=C.UTF-8", "MAN_KEEP_FORMATTING="});
    CHECK(shown.exit_code == 0);
    CHECK(shown.err.empty());
    std::istringstream words(RunGui({"--help"}).out);
    int options = 0;
    for (std::string word; words >> word;) {
      if (word.rfind("--", 0) != 0) continue;
      ++options;
      CHECK_MESSAGE(test::Has(shown.out, word), word);
    }
    CHECK(options >= 7);
    for (const session::Panel panel : session::kAllPanels) {
      CHECK(test::Has(shown.out, std::string(session::WordFor(panel))));
    }
  }

  TEST_CASE("stallscope view starts the window") {
    const ProgramResult result = test::RunStallscope({"view", Sample("transfer")}, kNoDisplay);
    CHECK(result.exit_code == 5);
    CHECK(result.err.rfind("stallscope-gui: ", 0) == 0);
  }

  TEST_CASE("stallscope view names the missing program") {
    const Folder folder;
    // A copy stands alone, and no folder of the path has the other one.
    const std::string alone = folder / "stallscope";
    std::filesystem::copy_file(test::BuildDir() + "/bin/stallscope", alone);
    const ProgramResult result =
        test::RunProgram({alone, "view", Sample("transfer")}, {"PATH=/nowhere"});
    CHECK(result.exit_code == 5);
    CHECK(IsOneLine(result.err));
    CHECK(result.err.find("stallscope-gui") != std::string::npos);
  }
}
