#include "analyzer/cli/outputs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

#include "analyzer/cli/terminal.h"

namespace stallscope::cli {
namespace {

bool IsStdout(const struct stat& about) {
  struct stat out {};
  return fstat(STDOUT_FILENO, &out) == 0 && out.st_dev == about.st_dev &&
         out.st_ino == about.st_ino;
}

// A file that is asked for, with the form of the --format that goes with it.
struct Reading {
  std::vector<ReportOutput> outputs;
  size_t paired = 0;         // files with a --format of their own
  size_t contradicted = 0;   // of these, the ones whose names tell another form
  std::optional<Error> why;  // why it is none
};

Error NoForm(const std::string& path) {
  return {ErrorKind::kUsage, "its name implies no format", path,
          "put --format text, json, markdown, html, junit or sarif before its -o"};
}

// A file without a --format. What has no ending, a device say, is text as stdout is.
Result<ReportOutput> ByName(const std::string& path) {
  if (const auto form = report::FormOfName(path)) return ReportOutput{*form, path};
  if (std::filesystem::path(path).has_extension()) return NoForm(path);
  return ReportOutput{report::Form::kText, path};
}

void AddPair(report::Form form, const std::string& path, Reading& reading) {
  reading.outputs.push_back({form, path});
  ++reading.paired;
  if (report::FormOfName(path).value_or(form) != form) ++reading.contradicted;
}

// What cannot be: a form that the name does not tell, two forms for stdout or for one file.
std::optional<Error> FaultOf(const std::vector<ReportOutput>& outputs) {
  size_t to_stdout = 0;
  std::set<std::string> files;
  for (const ReportOutput& output : outputs) {
    if (output.path.empty()) {
      ++to_stdout;
    } else if (!files.insert(output.path).second) {
      return Error{ErrorKind::kUsage, "two formats for one file", output.path,
                   "give each its own -o"};
    }
  }
  if (to_stdout < 2) return std::nullopt;
  return Error{ErrorKind::kUsage, "several formats for stdout", "--format",
               "give all but one of them an -o FILE"};
}

// Each -o with the --format on one side of it.
template <class GivenList>
Reading Read(const GivenList& given, bool format_first) {
  Reading reading;
  for (size_t i = 0; i < given.size(); ++i) {
    const bool pair = i + 1 < given.size() && given[i].is_file != given[i + 1].is_file &&
                      given[i].is_file != format_first;
    const auto form_at = [&](size_t at) {
      return report::FormOf(given[at].value).value_or(report::Form::kText);
    };
    if (pair) {
      const size_t file = format_first ? i + 1 : i;
      AddPair(form_at(format_first ? i : i + 1), given[file].value, reading);
      ++i;
    } else if (!given[i].is_file) {
      reading.outputs.push_back({form_at(i), ""});
    } else if (auto output = ByName(given[i].value); output.ok()) {
      reading.outputs.push_back(std::move(output).value());
    } else if (!reading.why) {
      reading.why = output.error();
    }
  }
  if (!reading.why) reading.why = FaultOf(reading.outputs);
  return reading;
}

bool SameOutputs(Reading a, Reading b) {
  const auto less = [](const ReportOutput& x, const ReportOutput& y) { return x.path < y.path; };
  std::sort(a.outputs.begin(), a.outputs.end(), less);
  std::sort(b.outputs.begin(), b.outputs.end(), less);
  return std::equal(a.outputs.begin(), a.outputs.end(), b.outputs.begin(), b.outputs.end(),
                    [](const ReportOutput& x, const ReportOutput& y) {
                      return x.path == y.path && x.form == y.form;
                    });
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

std::optional<report::Form> SweepFormOf(const std::string& file) {
  const auto form = report::FormOfName(file);
  const bool drawn =
      form == report::Form::kHtml || form == report::Form::kMarkdown || form == report::Form::kText;
  return drawn ? form : std::nullopt;
}

Status WriteOutput(const std::string& path, std::string_view text) {
  STALLSCOPE_ASSIGN_OR_RETURN(Output output, Output::Open(path));
  Status done = output.Write(text);
  if (done.ok()) done = output.Finish();
  if (output.reader_left()) return {};
  return done;
}

ReportOutputs::ReportOutputs(CLI::App& command) : command_(command) {
  format_ =
      command
          .add_option("--format", formats_, "Output format (repeatable; all but one need an -o)")
          ->check(CLI::IsMember(
              std::vector<std::string>(report::kFormWords.begin(), report::kFormWords.end())))
          ->allow_extra_args(false)
          ->take_all();
  output_ = command
                .add_option("-o,--output", paths_,
                            "Output file, in the --format next to it, or else in that of its name "
                            "(default: stdout)")
                ->type_name("FILE")
                ->allow_extra_args(false)
                ->take_all();
}

std::vector<ReportOutputs::Given> ReportOutputs::InOrder() const {
  std::vector<Given> given;
  size_t format = 0;
  size_t path = 0;
  for (const CLI::Option* option : command_.parse_order()) {
    if (option == format_ && format < formats_.size()) given.push_back({false, formats_[format++]});
    if (option == output_ && path < paths_.size()) given.push_back({true, paths_[path++]});
  }
  return given;
}

// A --format between two -o goes with either. The reading counts that gives more files their own
// format, then the one that contradicts fewer names.
Result<std::vector<ReportOutput>> ReportOutputs::Asked() const {
  const std::vector<Given> given = InOrder();
  if (given.empty()) return std::vector<ReportOutput>(1);
  const Reading before = Read(given, true);
  const Reading after = Read(given, false);
  if (before.why && after.why) return *before.why;
  if (before.why || after.why) return before.why ? after.outputs : before.outputs;
  if (before.paired != after.paired) {
    return before.paired > after.paired ? before.outputs : after.outputs;
  }
  if (SameOutputs(before, after)) return before.outputs;
  if (before.contradicted != after.contradicted) {
    return before.contradicted < after.contradicted ? before.outputs : after.outputs;
  }
  return Error{ErrorKind::kUsage, "which file a --format belongs to is ambiguous", "--format",
               "put each --format directly before its -o FILE"};
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
    if (SweepFormOf(file)) continue;
    return Error{ErrorKind::kUsage, "unknown report format", file,
                 "use a name that ends in .html, .md or .txt"};
  }
  return {};
}

Status WriteSweepReports(const report::SweepTable& table, const std::vector<std::string>& files) {
  report::FormOptions options;
  options.text.colors = UseColors();
  Status first = WriteOutput("", report::Write(table, report::Form::kText, options));
  for (const std::string& file : files) {
    Status done =
        WriteOutput(file, report::Write(table, SweepFormOf(file).value_or(report::Form::kText)));
    if (!done.ok() && first.ok()) first = done;
  }
  return first;
}

}  // namespace stallscope::cli
