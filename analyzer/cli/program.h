// The command-line program: its commands, and what they share. One thread.
#ifndef STALLSCOPE_ANALYZER_CLI_PROGRAM_H_
#define STALLSCOPE_ANALYZER_CLI_PROGRAM_H_

#include <CLI/App.hpp>
#include <memory>

#include "analyzer/base/result.h"

namespace stallscope::cli {

// Every command with its options. A command's work is done while the arguments are parsed and
// leaves its result in `exit_code`, which must outlive the parsing.
std::unique_ptr<CLI::App> MakeProgram(int& exit_code);

// Prints the error on one line of stderr and returns its exit code.
int Fail(const Error& error);

// Each command lies in the file of its name.
void AddAnalyze(CLI::App& app, int& exit_code);
void AddCompare(CLI::App& app, int& exit_code);
void AddInfo(CLI::App& app, int& exit_code);
void AddExport(CLI::App& app, int& exit_code);
void AddGenerate(CLI::App& app, int& exit_code);
void AddRecord(CLI::App& app, int& exit_code);
void AddReplay(CLI::App& app, int& exit_code);
void AddTune(CLI::App& app, int& exit_code);
void AddView(CLI::App& app, int& exit_code);
void AddCompletion(CLI::App& app, int& exit_code);
void AddMan(CLI::App& app, int& exit_code);

}  // namespace stallscope::cli

#endif  // STALLSCOPE_ANALYZER_CLI_PROGRAM_H_
