#include "analyzer/cli/sweep_outputs.h"

#include <filesystem>

#include "analyzer/cli/output.h"
#include "analyzer/cli/terminal.h"

namespace stallscope::cli {
namespace {

std::string FormOf(const std::string& file) { return std::filesystem::path(file).extension(); }

std::string TextFor(const report::SweepTable& table, const std::string& file) {
  const std::string form = FormOf(file);
  if (form == ".html") return report::WriteHtml(table);
  if (form == ".md") return report::WriteMarkdown(table);
  report::TextOptions options;
  options.colors = file.empty() && UseColors();
  return report::WriteText(table, options);
}

Status WriteOne(const report::SweepTable& table, const std::string& file) {
  STALLSCOPE_ASSIGN_OR_RETURN(Output output, Output::Open(file));
  Status done = output.Write(TextFor(table, file));
  if (done.ok()) done = output.Finish();
  if (output.reader_left()) return {};
  return done;
}

}  // namespace

Status CheckSweepReports(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    const std::string form = FormOf(file);
    if (form == ".html" || form == ".md" || form == ".txt") continue;
    return Error{ErrorKind::kUsage, "the report's form cannot be told from its name", file,
                 "end it in .html, .md or .txt"};
  }
  return {};
}

Status WriteSweepReports(const report::SweepTable& table, const std::vector<std::string>& files) {
  Status first = WriteOne(table, "");
  for (const std::string& file : files) {
    Status done = WriteOne(table, file);
    if (!done.ok() && first.ok()) first = done;
  }
  return first;
}

}  // namespace stallscope::cli
