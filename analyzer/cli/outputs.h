// Where a command's result goes: to stdout, or to a file that has either its old or its new
// content, never part of it. One thread.
#pragma once

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
#include "analyzer/report/html/forms.h"
#include "analyzer/report/sweep_table.h"

namespace stallscope::cli {

class Output {
 public:
  // An empty path is stdout, and so is a path that leads there (/dev/stdout). A pipe or a character
  // device is written to as it is.
  static Result<Output> Open(const std::string& path);

  Status Write(std::string_view text);
  // Commits everything. Without it a file keeps its old content.
  Status Finish();
  // The reader of stdout or a pipe went away: that the rest was not written is no failure.
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

// Writes a whole result. A reader of stdout or a pipe that went away early is no failure.
Status WriteOutput(const std::string& path, std::string_view text);

// --format and -o: which forms of a report are wanted, and where each goes.
struct ReportOutput {
  report::Form form = report::Form::kText;
  std::string path;  // empty: stdout
};

// Adds --format and -o to a command; their values are known after parsing. A file's form is that of
// the --format beside its -o, before it or after it, else that of its name. At most one form goes
// to stdout; the default is text.
class ReportOutputs {
 public:
  explicit ReportOutputs(CLI::App& command);

  // Wrong usage: a file whose form nothing says, or two readings that differ; two forms for stdout.
  Result<std::vector<ReportOutput>> Asked() const;

 private:
  CLI::App& command_;
  // The options in the order of the command line.
  struct Given {
    bool is_file = false;
    std::string value;
  };
  std::vector<Given> InOrder() const;

  CLI::Option* format_;
  CLI::Option* output_;
  std::vector<std::string> formats_;
  std::vector<std::string> paths_;
};

// Writes each form that `make` returns. Tries all of them and returns the first error.
Status WriteReports(
    const std::vector<ReportOutput>& outputs, bool inconclusive_fails,
    const std::function<std::string(report::Form form, const report::FormOptions& options)>& make);

// The form of a sweep's report by its name: .html, .md or .txt; nothing for another one.
std::optional<report::Form> SweepFormOf(const std::string& file);
// A name that gives no form is wrong usage, reported before
// anything runs.
Status CheckSweepReports(const std::vector<std::string>& files);
// Text to stdout, and each file. Tries all of them and returns the first error.
Status WriteSweepReports(const report::SweepTable& table, const std::vector<std::string>& files);

}  // namespace stallscope::cli
