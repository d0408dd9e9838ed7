#include "analyzer/cli/program.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>

#include "analyzer/base/file.h"

namespace stallscope::cli {
const usage::About& AboutProgram() {
  static const usage::About about{
      "find out why a training step waits for its data",
      "",
      {{0, "success", ""},
       {1, "a budget failed or a run is slower", ""},
       {2, "wrong usage", ""},
       {3, "an input is missing or unreadable",
        "A partly readable trace is a warning and exits 0."},
       {4, "inconclusive", "Only budgets and comparisons can be."},
       {5, "the run failed or cannot run here", ""}},
      {{"NO_COLOR", "When set, disables color."},
       {"STALLSCOPE_CLOCK",
        "When set to monotonic, recordings use the kernel's clock instead of the processor's."}}};
  return about;
}

std::unique_ptr<CLI::App> MakeProgram(int& exit_code) {
  auto app = std::make_unique<CLI::App>(
      "Finds out why a training step waits for its data, and what to change.", "stallscope");
  app->set_version_flag("--version", std::string("stallscope " STALLSCOPE_VERSION),
                        "Print the version and exit");
  app->require_subcommand(1);
  AddGenerate(*app, exit_code);
  AddConvert(*app, exit_code);
  AddRecord(*app, exit_code);
  AddRun(*app, exit_code);
  AddAnalyze(*app, exit_code);
  AddCompare(*app, exit_code);
  AddApply(*app, exit_code);
  AddPatch(*app, exit_code);
  AddReplay(*app, exit_code);
  AddTune(*app, exit_code);
  AddInfo(*app, exit_code);
  AddImport(*app, exit_code);
  AddExport(*app, exit_code);
  AddView(*app, exit_code);
  AddDoctor(*app, exit_code);
  AddCompletion(*app, exit_code);
  AddMan(*app, exit_code);
  usage::SetHelp(*app, AboutProgram());
  return app;
}

int Fail(const Error& error) {
  std::fflush(stdout);
  std::fprintf(stderr, "stallscope: %s\n", error.Line().c_str());
  return static_cast<int>(error.kind);
}

std::vector<std::string> ProgramArguments() {
  std::vector<std::string> arguments;
  const auto text = ReadWholeFile("/proc/self/cmdline", size_t{4} << 20);
  if (!text.ok()) return arguments;
  for (size_t at = 0; at < text.value().size();) {
    arguments.emplace_back(text.value().c_str() + at);
    at += arguments.back().size() + 1;
  }
  return arguments;
}

Result<std::string> ProgramPath() {
  std::error_code failed;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (!failed) return path.string();
  return Error{ErrorKind::kRun, "cannot locate its own executable: " + failed.message(),
               "/proc/self/exe", ""};
}

CLI::Validator StepCounts() { return CLI::Range(int64_t{0}, int64_t{1'000'000'000'000}); }

}  // namespace stallscope::cli
