// Where a command's result goes: to stdout, or into a file that is the old or the new, never half.
// One thread.
#ifndef STALLSCOPE_ANALYZER_CLI_OUTPUTS_H_
#define STALLSCOPE_ANALYZER_CLI_OUTPUTS_H_

#include <CLI/App.hpp>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/base/file.h"
#include "analyzer/base/result.h"
#include "analyzer/report/forms.h"
#include "analyzer/report/sweep_table.h"

namespace stallscope::cli {

class Output {
 public:
  // An empty path is stdout, and so is a path that leads there (/dev/stdout). A pipe or a character
  // device is written to as it is.
  static Result<Output> Open(const std::string& path);

  Status Write(std::string_view text);
  // Brings everything to its place. Without it a file keeps its old content.
  Status Finish();
  // Whoever read stdout or a pipe went away: that the rest was not written is no failure.
  bool reader_left() const { return reader_left_; }

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const {
      if (file != stdout) std::fclose(file);
    }
  };
  Output() = default;
  Error WriteError();

  std::string path_;
  std::optional<OutputFile> file_;
  std::unique_ptr<std::FILE, CloseFile> stream_;  // where there is no file_
  bool reader_left_ = false;
};

// Writes a whole result. That a reader of stdout or of a pipe went away early is no failure.
Status WriteOutput(const std::string& path, std::string_view text);

// --format and -o of the commands that report: which forms, and where each goes.
struct ReportOutput {
  report::Form form = report::Form::kText;
  std::string path;  // empty: stdout
};

// Adds --format and -o to a command; what they ask for is known after the parsing. An -o belongs to
// the --format before it. At most one form goes to stdout; without any it is text.
class ReportOutputs {
 public:
  explicit ReportOutputs(CLI::App& command);

  // Wrong usage: an -o too many, two forms for stdout.
  Result<std::vector<ReportOutput>> Asked() const;

 private:
  CLI::App& command_;
  CLI::Option* format_;
  CLI::Option* output_;
  std::vector<std::string> formats_;
  std::vector<std::string> paths_;
};

// Writes each form, made by `make`. All of them are tried; the first error is given back.
Status WriteReports(
    const std::vector<ReportOutput>& outputs, bool inconclusive_fails,
    const std::function<std::string(report::Form form, const report::FormOptions& options)>& make);

// The form of each file is that of its name: .html, .md or .txt; another one is wrong usage, which
// is found before anything has run.
Status CheckSweepReports(const std::vector<std::string>& files);
// Text to stdout, and each file. All are tried; the first error is given back.
Status WriteSweepReports(const report::SweepTable& table, const std::vector<std::string>& files);

}  // namespace stallscope::cli

#endif  // STALLSCOPE_ANALYZER_CLI_OUTPUTS_H_
