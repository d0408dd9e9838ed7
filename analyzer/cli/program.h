// The command-line program: its commands, and what they share. One thread.
#pragma once

#include <CLI/App.hpp>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/base/result.h"
#include "analyzer/usage/help.h"

namespace stallscope::cli {

// Exit codes beyond those of ErrorKind.
constexpr int kExitFailed = 1;        // a budget, or a comparison whose new side is slower
constexpr int kExitInconclusive = 4;  // of a budget or a comparison

// Every command with its options. A command runs while the arguments are parsed and leaves its
// result in `exit_code`, which must outlive the parsing.
std::unique_ptr<CLI::App> MakeProgram(int& exit_code);

// What the help and the man page say besides its commands.
const usage::About& AboutProgram();

// Prints the error on one line of stderr and returns its exit code.
int Fail(const Error& error);

// The text that the program prints without arguments: what to do first, given the current folder.
std::string FirstSteps();

// The arguments of this process, from the kernel: the parser does not keep what it parsed.
std::vector<std::string> ProgramArguments();

// This program's own file, for runs in their own processes.
Result<std::string> ProgramPath();

// What --steps takes: as many as a spec may have.
CLI::Validator StepCounts();

// Each command is in the file of its name.
void AddAnalyze(CLI::App& app, int& exit_code);
void AddCompare(CLI::App& app, int& exit_code);
void AddInfo(CLI::App& app, int& exit_code);
void AddImport(CLI::App& app, int& exit_code);
void AddExport(CLI::App& app, int& exit_code);
void AddGenerate(CLI::App& app, int& exit_code);
void AddConvert(CLI::App& app, int& exit_code);
void AddRecord(CLI::App& app, int& exit_code);
void AddRun(CLI::App& app, int& exit_code);
void AddApply(CLI::App& app, int& exit_code);
void AddPatch(CLI::App& app, int& exit_code);
void AddReplay(CLI::App& app, int& exit_code);
void AddTune(CLI::App& app, int& exit_code);
void AddView(CLI::App& app, int& exit_code);
void AddDoctor(CLI::App& app, int& exit_code);
void AddCompletion(CLI::App& app, int& exit_code);
void AddMan(CLI::App& app, int& exit_code);

}  // namespace stallscope::cli
