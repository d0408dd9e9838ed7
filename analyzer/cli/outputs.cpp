#include "analyzer/cli/outputs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "analyzer/cli/terminal.h"

namespace stallscope::cli {
namespace {

bool IsStdout(const struct stat& about) {
  struct stat out {};
  return fstat(STDOUT_FILENO, &out) == 0 && out.st_dev == about.st_dev &&
         out.st_ino == about.st_ino;
}

std::string FormOf(const std::string& file) { return std::filesystem::path(file).extension(); }

std::string TextFor(const report::SweepTable& table, const std::string& file) {
  const std::string form = FormOf(file);
  if (form == ".html") return report::Write(table, report::Form::kHtml);
  if (form == ".md") return report::Write(table, report::Form::kMarkdown);
  report::FormOptions options;
  options.text.colors = file.empty() && UseColors();
  return report::Write(table, report::Form::kText, options);
}

}  // namespace

Result<Output> Output::Open(const std::string& path) {
  Output output;
  output.path_ = path.empty() ? "stdout" : path;
  struct stat about {};
  const bool exists = !path.empty() && stat(path.c_str(), &about) == 0;
  if (path.empty() || (exists && IsStdout(about))) {
    output.stream_.reset(stdout);
  } else if (exists && (S_ISFIFO(about.st_mode) || S_ISCHR(about.st_mode))) {
    const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    output.stream_.reset(fd < 0 ? nullptr : fdopen(fd, "w"));
    if (output.stream_ == nullptr) return output.WriteError();
  } else {
    STALLSCOPE_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(path));
    output.file_.emplace(std::move(file));
  }
  return output;
}

Error Output::WriteError() {
  reader_left_ = errno == EPIPE;
  return {ErrorKind::kRun, std::string("cannot write: ") + std::strerror(errno), path_,
          errno == ENOSPC ? "free some space, or write to another disk" : ""};
}

Status Output::Write(std::string_view text) {
  if (file_) return file_->Append(text);
  if (std::fwrite(text.data(), 1, text.size(), stream_.get()) == text.size()) return {};
  return WriteError();
}

Status Output::Finish() {
  if (file_) return file_->Commit();
  if (std::fflush(stream_.get()) == 0) return {};
  return WriteError();
}

Status WriteOutput(const std::string& path, std::string_view text) {
  STALLSCOPE_ASSIGN_OR_RETURN(Output output, Output::Open(path));
  Status done = output.Write(text);
  if (done.ok()) done = output.Finish();
  if (output.reader_left()) return {};
  return done;
}

ReportOutputs::ReportOutputs(CLI::App& command) : command_(command) {
  format_ = command.add_option("--format", formats_, "Output format (repeatable)")
                ->check(CLI::IsMember(
                    std::vector<std::string>(report::kFormWords.begin(), report::kFormWords.end())))
                ->allow_extra_args(false)
                ->take_all();
  output_ = command
                .add_option("-o,--output", paths_,
                            "Output file for the preceding --format (default: stdout)")
                ->allow_extra_args(false)
                ->take_all();
}

Result<std::vector<ReportOutput>> ReportOutputs::Asked() const {
  std::vector<ReportOutput> asked;
  size_t format = 0;
  size_t path = 0;
  for (const CLI::Option* option : command_.parse_order()) {
    if (option == format_ && format < formats_.size()) {
      asked.push_back({report::FormOf(formats_[format++]).value_or(report::Form::kText), ""});
    }
    if (option != output_ || path == paths_.size()) continue;
    if (asked.empty()) asked.emplace_back();
    if (!asked.back().path.empty()) {
      return Error{ErrorKind::kUsage, "two output files for one format", paths_[path],
                   "give each -o its own --format"};
    }
    asked.back().path = paths_[path++];
  }
  if (asked.empty()) asked.emplace_back();
  size_t to_stdout = 0;
  for (const ReportOutput& output : asked) to_stdout += output.path.empty() ? size_t{1} : 0;
  if (to_stdout > 1) {
    return Error{ErrorKind::kUsage, "several formats for stdout", "--format",
                 "give all but one of them an -o FILE"};
  }
  return asked;
}

Status WriteReports(
    const std::vector<ReportOutput>& outputs, bool inconclusive_fails,
    const std::function<std::string(report::Form form, const report::FormOptions& options)>& make) {
  Status first;
  for (const ReportOutput& report : outputs) {
    report::FormOptions options;
    options.text.colors = report.path.empty() && UseColors();
    options.sarif.tool_version = STALLSCOPE_VERSION;
    options.inconclusive_fails = inconclusive_fails;
    const Status done = WriteOutput(report.path, make(report.form, options));
    if (!done.ok() && first.ok()) first = done;
  }
  return first;
}

Status CheckSweepReports(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    const std::string form = FormOf(file);
    if (form == ".html" || form == ".md" || form == ".txt") continue;
    return Error{ErrorKind::kUsage, "unknown report format", file,
                 "use a name that ends in .html, .md or .txt"};
  }
  return {};
}

Status WriteSweepReports(const report::SweepTable& table, const std::vector<std::string>& files) {
  Status first = WriteOutput("", TextFor(table, ""));
  for (const std::string& file : files) {
    Status done = WriteOutput(file, TextFor(table, file));
    if (!done.ok() && first.ok()) first = done;
  }
  return first;
}

}  // namespace stallscope::cli
