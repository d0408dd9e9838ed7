#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>

#include "analyzer/base/program.h"
#include "analyzer/cli/program.h"

namespace stallscope::cli {
namespace {

constexpr const char* kDesktopProgram = "stallscope-gui";

// Beside this program, else in a folder of $PATH; empty where it is in neither.
std::string FindDesktopProgram() {
  return FindProgram(kDesktopProgram, ProgramFolder() + ":" + SearchPath());
}

int RunView(const std::vector<std::string>& traces) {
  const std::string program = FindDesktopProgram();
  if (program.empty()) {
    return Fail({ErrorKind::kRun, "not found beside this program or on the PATH", kDesktopProgram,
                 "build the target stallscope_app, or install it"});
  }
  std::vector<std::string> words = {program};
  // A trace's name may look like an option.
  if (!traces.empty()) words.emplace_back("--");
  words.insert(words.end(), traces.begin(), traces.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  // Replaces this process: its exit code, signals and terminal become the window's.
  execv(program.c_str(), arguments.data());
  return Fail({ErrorKind::kRun, std::string("cannot start it: ") + std::strerror(errno), program,
               "rebuild or reinstall it"});
}

}  // namespace

void AddView(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("view", "Open traces in a window");
  auto traces = std::make_shared<std::vector<std::string>>();
  command->add_option("TRACE", *traces, "Traces to open; several are runs to compare");
  command->callback([=, &exit_code] { exit_code = RunView(*traces); });
}

}  // namespace stallscope::cli
