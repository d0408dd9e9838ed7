#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "analyzer/base/escape.h"
#include "analyzer/base/file.h"
#include "analyzer/cli/program.h"
#include "analyzer/report/job_section.h"
#include "analyzer/words/words.h"
#include "collectors/job/run_job.h"
#include "replay/workbench/profiles.h"
#include "replay/workbench/workbench.h"

namespace stallscope::cli {
namespace {

struct RunArguments {
  std::string output = "run.sst";
  std::vector<std::string> settings;
  std::vector<std::string> places;
  bool with_parent = false;
  uint64_t steps = 0;
  std::string profile = "auto";
  bool digest = false;
  bool probe = false;
  bool quiet = false;
  std::vector<std::string> command;  // only to be required: the parser takes brackets apart
};

// The line between the job's own output.
void Tell(const std::string& line) {
  std::fflush(stdout);
  std::fprintf(stderr, "stallscope: %s\n", Printable(line).c_str());
}

// True if the job prints on the terminal that is this program's stderr, or may do so.
bool PrintsOnOurTerminal(pid_t job) {
  struct stat terminal {};
  if (fstat(STDERR_FILENO, &terminal) != 0) return true;
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat other {};
    if (stat(fmt::format("/proc/{}/fd/{}", job, fd).c_str(), &other) != 0) {
      if (errno != ENOENT) return true;  // it is another user's
    } else if (S_ISCHR(other.st_mode) && other.st_rdev == terminal.st_rdev) {
      return true;
    }
  }
  return false;
}

// One line of a terminal on which the job prints nothing: no results, and no bar of its own.
class StepsLine {
 public:
  explicit StepsLine(bool wanted) : wanted_(wanted && isatty(STDERR_FILENO) != 0) {}
  ~StepsLine() { Clear(); }
  StepsLine(const StepsLine&) = delete;
  StepsLine& operator=(const StepsLine&) = delete;

  void Show(const recorder::StepCount& steps, pid_t job) {
    if (!wanted_ || steps.steps == 0) return;
    if (PrintsOnOurTerminal(job)) return Clear();
    const auto total_ns = static_cast<double>(std::max<int64_t>(steps.last_ns - steps.first_ns, 1));
    std::fprintf(stderr, "\rstallscope: %llu steps, %.1f steps/s, %.0f%% of the time waiting\x1b[K",
                 static_cast<unsigned long long>(steps.steps),
                 static_cast<double>(steps.steps) * 1e9 / total_ns,
                 std::clamp(100 * static_cast<double>(steps.waited_ns) /
                                static_cast<double>(std::max<int64_t>(steps.all_ns, 1)),
                            0.0, 100.0));
    std::fflush(stderr);
    drawn_ = true;
  }
  void Clear() {
    if (std::exchange(drawn_, false)) std::fputs("\r\x1b[K", stderr);
  }

 private:
  const bool wanted_;
  bool drawn_ = false;
};

// Everything after the first "--", as given.
Result<std::vector<std::string>> CommandOf(const std::vector<std::string>& command_line) {
  const auto dashes = std::find(command_line.begin(), command_line.end(), "--");
  if (dashes != command_line.end() && dashes + 1 != command_line.end()) {
    return std::vector<std::string>(dashes + 1, command_line.end());
  }
  return Error{ErrorKind::kUsage, "no command given", "run",
               "put it after --: stallscope run -- python train.py"};
}

// What the command names may be read by it: "train.py", "--config=a.yaml".
void NoteFilesOf(const std::vector<std::string>& command) {
  for (const std::string& argument : command) {
    for (const std::string& path : {argument, argument.substr(argument.find('=') + 1)}) {
      std::error_code unknown;
      if (std::filesystem::is_regular_file(path, unknown)) NoteInput(path);
    }
  }
}

// "120 steps; input-bound: fetch (cpu); run.sst"
std::string LastLine(const RunArguments& arguments, const job::JobResult& result) {
  const auto opened = workbench::Open({arguments.output});
  if (!opened.ok()) {
    return words::Counted(result.steps.steps, "step") + "; " + opened.error().Line();
  }
  const report::Report report = workbench::Analyze(opened.value(), {.price = false});
  return fmt::format("{}; {}; {}", report::StepsPhrase(*opened.value().run), report.verdict.text,
                     arguments.output);
}

void TellTheEnd(const RunArguments& arguments, const job::JobResult& result) {
  if (!result.trace.first_error.empty()) {
    Tell("the trace is incomplete: " + result.trace.first_error);
  }
  if (arguments.quiet) return;
  if (result.exit_code != 0) Tell(fmt::format("the job exited {}", result.exit_code));
  if (result.trace.dropped != 0) {
    Tell(fmt::format("{} of {} events were dropped", result.trace.dropped, result.trace.emitted));
  }
  if (!result.digest.empty()) Tell("digest " + result.digest);
  Tell(LastLine(arguments, result));
}

void JoinProfiles(const RunArguments& arguments, const std::vector<job::ProfileFile>& files) {
  std::vector<workbench::FrameworkProfile> profiles;
  for (const job::ProfileFile& file : files) {
    profiles.push_back({file.path, {file.pid, file.from_ns, file.to_ns}});
  }
  const Status joined = workbench::JoinProfiles(arguments.output, profiles);
  if (!joined.ok()) {
    Tell("the trace lacks the framework profiler's data: " + joined.error().Line());
  }
}

int RunRun(const RunArguments& arguments) {
  const std::vector<std::string> command_line = ProgramArguments();
  auto command = CommandOf(command_line);
  if (!command.ok()) return Fail(command.error());
  NoteFilesOf(command.value());
  job::JobOptions options;
  options.command = std::move(command).value();
  options.output = arguments.output;
  options.settings = {arguments.settings, arguments.places, arguments.steps,
                      arguments.profile,  arguments.digest, arguments.probe};
  options.bound = arguments.with_parent;
  options.tool = std::string("stallscope ") + STALLSCOPE_VERSION;
  options.command_line = command_line;
  StepsLine line(!arguments.quiet);
  options.on_progress = [&](const recorder::StepCount& steps, pid_t job) { line.Show(steps, job); };
  options.on_profiles = [&](const std::vector<job::ProfileFile>& files) {
    JoinProfiles(arguments, files);
  };
  const auto result = job::RunJob(options);
  line.Clear();
  if (!result.ok()) return Fail(result.error());
  TellTheEnd(arguments, result.value());
  if (result.value().interrupted) {
    // Whoever waits for this program must see that it was Ctrl-C: a shell then ends its loop.
    std::signal(SIGINT, SIG_DFL);
    std::raise(SIGINT);
  }
  return result.value().exit_code;
}

}  // namespace

void AddRun(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* command = app.add_subcommand(
      "run", "Run your own training program, unchanged, and record all of its processes");
  command->add_option("-o,--output", arguments->output, "Trace to write")
      ->type_name("FILE")
      ->capture_default_str();
  command
      ->add_option("--set", arguments->settings,
                   "Change a setting: loader.num_workers=4, job.threads=1, env.NAME=VALUE "
                   "(repeatable)")
      ->allow_extra_args(false);
  command->add_option("--steps", arguments->steps,
                      "End the program after this many training steps; 0: never");
  command
      ->add_option(
          "--profile", arguments->profile,
          "Time the ops inside the loader's stages, and open the framework's profiler for a "
          "few steps if the job uses a device or tf.data; all: also for ops on the CPU")
      ->check(CLI::IsMember({"auto", "all", "off"}))
      ->capture_default_str();
  command->add_flag(
      "--digest", arguments->digest,
      "Hash every batch that the trainer gets, to compare the data of two runs: takes the "
      "job's time");
  command->add_flag("--probe", arguments->probe,
                    "Slow one stage of the loader at a time in short windows, to check what bounds "
                    "the job");
  command->add_flag("--quiet", arguments->quiet, "Print errors only");
  // For replays, which know where a loader is constructed, and must not leave a job behind.
  command
      ->add_option("--at", arguments->places,
                   "Where a loader is constructed, or a call that takes a setting is made: "
                   "LOADER=FILE:LINE, KNOB=FILE:LINE")
      ->allow_extra_args(false)
      ->group("");
  command->add_flag("--with-parent", arguments->with_parent, "End with the calling program")
      ->group("");
  command->add_option("COMMAND", arguments->command, "Program and its arguments, after --")
      ->option_text("-- COMMAND...")
      ->required();
  command->callback([arguments, &exit_code] { exit_code = RunRun(*arguments); });
}

}  // namespace stallscope::cli
