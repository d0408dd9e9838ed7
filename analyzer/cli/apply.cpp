// `stallscope apply`: shows the diff of the user's own source that a finding or a patch makes, then
// writes it.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "analyzer/base/escape.h"
#include "analyzer/base/file.h"
#include "analyzer/cli/outputs.h"
#include "analyzer/cli/program.h"
#include "analyzer/cli/terminal.h"
#include "analyzer/findings/source_change.h"
#include "analyzer/spec/nearest.h"
#include "analyzer/words/words.h"
#include "replay/workbench/workbench.h"

namespace stallscope::cli {
namespace {

using findings::ChangedLines;
using findings::SourceChange;

constexpr uint64_t kLargestSource = uint64_t{16} << 20;

struct ApplyArguments {
  std::string trace;
  std::string finding;
  std::string stage;
  std::string patch;
  bool yes = false;
};

std::string AllOf(const std::vector<std::string>& texts, const char* between) {
  return fmt::format("{}", fmt::join(texts, between));
}

bool HasDiff(const report::FindingRow& row) { return !findings::DiffOf(row.changes).empty(); }

// What no diff can write.
std::vector<std::string> ByHand(const std::vector<SourceChange>& changes) {
  std::vector<std::string> texts;
  for (const SourceChange& change : changes) {
    texts.insert(texts.end(), change.by_hand.begin(), change.by_hand.end());
  }
  return texts;
}

// --set for each knob, if the change is one that only a spec can have.
std::string AsSettings(const Patch& patch) {
  std::string text;
  for (const auto& change : patch.changes) {
    const auto* const set = std::get_if<SetChange>(&change);
    if (set == nullptr) return "";
    text += " --set " + ShellWord(set->path + "=" + set->value);
  }
  return text;
}

// Why this finding has nothing to write, and what to do instead.
Error NothingToWrite(const ApplyArguments& arguments, const report::FindingRow& row) {
  Error error{ErrorKind::kUsage, "finding " + Quoted(row.id) + " changes no line of code",
              arguments.trace, "run stallscope analyze for its advice"};
  const std::vector<std::string> by_hand = ByHand(row.changes);
  if (!row.recommendation.has_value()) return error;
  const findings::Recommendation& recommendation = *row.recommendation;
  const std::string settings = recommendation.of_stages ? "" : AsSettings(recommendation.patch);
  if (!by_hand.empty()) {
    error.what = "finding " + Quoted(row.id) + " cannot be written as a diff";
    error.hint = AllOf(by_hand, "; ");
  } else if (!settings.empty()) {
    error.hint = "record the spec with" + settings;
  } else if (!recommendation.patch.changes.empty() && !recommendation.of_stages) {
    error.hint = "change the spec with stallscope patch";
  } else {
    error.hint = recommendation.text;
  }
  return error;
}

Result<const report::FindingRow*> Chosen(const ApplyArguments& arguments,
                                         const report::Report& report) {
  std::vector<const report::FindingRow*> rows;
  std::vector<std::string> stages;
  std::vector<std::string> others;
  for (const report::FindingRow& row : report.findings) {
    const bool meant = row.id == arguments.finding;
    if (meant && (arguments.stage.empty() || row.stage == arguments.stage)) rows.push_back(&row);
    if (meant) stages.push_back(row.stage);
    if (HasDiff(row)) others.push_back(row.id);
  }
  if (rows.empty()) {
    const std::string of = arguments.stage.empty() ? "" : " in " + Quoted(arguments.stage);
    std::sort(others.begin(), others.end());
    others.erase(std::unique(others.begin(), others.end()), others.end());
    return Error{ErrorKind::kUsage, "no finding " + Quoted(arguments.finding) + of, arguments.trace,
                 others.empty() ? "no finding of this run changes a line of code"
                                : "findings that change code: " + AllOf(others, ", ")};
  }
  // Several stages may ask for the same change.
  const auto is_like_first = [&](const report::FindingRow* row) {
    return findings::DiffOf(row->changes) == findings::DiffOf(rows.front()->changes);
  };
  if (!std::all_of(rows.begin(), rows.end(), is_like_first)) {
    return Error{ErrorKind::kUsage, Quoted(arguments.finding) + " is found in several stages",
                 arguments.trace, "choose one with --stage: " + AllOf(stages, ", ")};
  }
  if (!HasDiff(*rows.front())) return NothingToWrite(arguments, *rows.front());
  return rows.front();
}

// A terminal gets no carriage returns. A file or a pipe does: patch needs them.
std::string ShownDiff(const std::string& diff) {
  if (isatty(STDOUT_FILENO) != 0) return PrintableLines(diff);
  std::string shown;
  for (size_t at = 0; at < diff.size();) {
    const size_t end = std::min(diff.find('\n', at), diff.size() - 1) + 1;
    const bool dos = end - at >= 2 && diff.compare(end - 2, 2, "\r\n") == 0;
    shown += PrintableLines(diff.substr(at, end - at));
    if (dos) shown.insert(shown.size() - 1, "\r");
    at = end;
  }
  return shown;
}

// A file's text by lines.
class Source {
 public:
  explicit Source(std::string content) : content_(std::move(content)) {
    for (size_t at = content_.find('\n'); at != std::string::npos;
         at = content_.find('\n', at + 1)) {
      begins_.push_back(at + 1);
    }
  }

  // Whole lines, from that one on.
  bool Has(size_t line, const std::string& text) const {
    if (line < 1 || line > begins_.size()) return false;
    const size_t at = begins_[line - 1];
    if (content_.compare(at, text.size(), text) != 0) return false;
    return text.ends_with('\n') || at + text.size() == content_.size();
  }

  // From bottom to top: earlier lines keep their place. Otherwise the first that is not as
  // recorded.
  Result<std::string> Changed(const SourceChange& change) const {
    std::string content = content_;
    for (auto lines = change.lines.rbegin(); lines != change.lines.rend(); ++lines) {
      if (!Has(lines->line, lines->before)) {
        return Error{ErrorKind::kInput, "changed since the recording",
                     words::WholePlace(change.file, lines->line),
                     "apply the diff by hand, or record again"};
      }
      content.replace(begins_[lines->line - 1], lines->before.size(), lines->after);
    }
    return content;
  }

  // Somebody has made it. What only takes lines away leaves nothing to tell by.
  bool HasAlready(const SourceChange& change) const {
    std::ptrdiff_t moved = 0;
    for (const ChangedLines& lines : change.lines) {
      const auto line = static_cast<std::ptrdiff_t>(lines.line) + moved;
      if (lines.after.empty() || line < 1 || !Has(static_cast<size_t>(line), lines.after)) {
        return false;
      }
      moved += std::count(lines.after.begin(), lines.after.end(), '\n') -
               std::count(lines.before.begin(), lines.before.end(), '\n');
    }
    return true;
  }

 private:
  std::string content_;
  std::vector<size_t> begins_{0};
};

// The file's new content; nothing where it has the change. Every line around the change must be as
// recorded.
Result<std::optional<std::string>> ChangedContent(const SourceChange& change) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(change.file, failed)) {
    return Error{ErrorKind::kInput, "file not found", change.file,
                 "apply the diff with patch -p1 where the file is"};
  }
  // Root could write it anyway. But a checkout is locked on purpose, and patch also refuses.
  using std::filesystem::perms;
  const perms mode = std::filesystem::status(change.file, failed).permissions();
  if ((mode & (perms::owner_write | perms::group_write | perms::others_write)) == perms::none) {
    return Error{ErrorKind::kRun, "read-only", change.file,
                 "check out the file, or make it writable (chmod u+w)"};
  }
  STALLSCOPE_ASSIGN_OR_RETURN(std::string content, ReadWholeFile(change.file, kLargestSource));
  const Source source(std::move(content));
  Result<std::string> changed = source.Changed(change);
  if (changed.ok()) return std::optional(std::move(changed).value());
  if (source.HasAlready(change)) return std::optional<std::string>();
  return changed.error();
}

// Of a patch that tune has written, say.
Result<std::vector<SourceChange>> ChangesOfPatch(const ApplyArguments& arguments,
                                                 const model::Run& run) {
  STALLSCOPE_ASSIGN_OR_RETURN(const Patch patch, ReadPatchFile(arguments.patch));
  std::vector<SourceChange> changes = findings::SourceChangesOf(run, patch);
  if (!findings::DiffOf(changes).empty()) return changes;
  const std::vector<std::string> by_hand = ByHand(changes);
  const std::string settings = AsSettings(patch);
  return Error{ErrorKind::kUsage, "the patch cannot be written as a diff", arguments.patch,
               !by_hand.empty()    ? AllOf(by_hand, "; ")
               : !settings.empty() ? "run the job with" + settings
                                   : "change the spec with stallscope patch"};
}

Result<std::vector<SourceChange>> ChangesOf(const ApplyArguments& arguments) {
  if (arguments.finding.empty() == arguments.patch.empty()) {
    return Error{ErrorKind::kUsage, "apply needs either --finding ID or --patch FILE",
                 arguments.trace, "stallscope analyze lists findings, tune writes patches"};
  }
  STALLSCOPE_ASSIGN_OR_RETURN(const workbench::Opened opened,
                              workbench::Open({arguments.trace}, PrintWarnings()));
  if (!arguments.patch.empty()) return ChangesOfPatch(arguments, *opened.run);
  const report::Report report = workbench::Analyze(opened);
  STALLSCOPE_ASSIGN_OR_RETURN(const report::FindingRow* const row, Chosen(arguments, report));
  return row->changes;
}

Status RunApply(const ApplyArguments& arguments) {
  STALLSCOPE_ASSIGN_OR_RETURN(const std::vector<SourceChange> changes, ChangesOf(arguments));
  std::vector<SourceChange> pending;
  const auto make_each = [](const std::vector<SourceChange>& of, auto&& act) -> Status {
    for (const SourceChange& change : of) {
      if (change.diff.empty()) continue;
      STALLSCOPE_ASSIGN_OR_RETURN(const auto content, ChangedContent(change));
      if (content.has_value()) {
        STALLSCOPE_RETURN_IF_ERROR(act(change, *content));
      } else {
        std::fprintf(stderr, "stallscope: %s already has this change\n",
                     Printable(change.file).c_str());
      }
    }
    return {};
  };
  std::string files;
  STALLSCOPE_RETURN_IF_ERROR(
      make_each(changes, [&](const SourceChange& change, const std::string&) -> Status {
        files += (files.empty() ? "" : ", ") + change.file;
        pending.push_back(change);
        return {};
      }));
  if (!pending.empty()) {
    STALLSCOPE_RETURN_IF_ERROR(WriteOutput("", ShownDiff(findings::DiffOf(pending))));
  }
  for (const std::string& text : ByHand(changes)) {
    std::fprintf(stderr, "stallscope: note: %s\n", Printable(text).c_str());
  }
  if (pending.empty()) return {};
  if (!arguments.yes && !AskedYes("write this to " + files + "?")) {
    return Error{ErrorKind::kUsage, "not written", files, "pass --yes to write it"};
  }
  // Read again: the file may have changed while the user was deciding.
  return make_each(pending, [](const SourceChange& change, const std::string& content) -> Status {
    STALLSCOPE_RETURN_IF_ERROR(WriteFileAtomically(change.file, content, Over::kOwnInput));
    std::fprintf(stderr, "stallscope: changed %s\n", Printable(change.file).c_str());
    return {};
  });
}

}  // namespace

void AddApply(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<ApplyArguments>();
  CLI::App* command = app.add_subcommand(
      "apply", "Show the diff that a finding or a patch makes of a job's source, and write it");
  command->add_option("TRACE", arguments->trace, "Recorded run")->required();
  command->add_option("--finding", arguments->finding, "Finding ID, as in the report")
      ->type_name("ID");
  command->add_option("--patch", arguments->patch, "Settings of the job, as stallscope tune writes")
      ->type_name("FILE");
  command->add_option("--stage", arguments->stage, "Stage, if several have this finding");
  command->add_flag("--yes", arguments->yes, "Write without asking");
  command->callback([arguments, &exit_code] {
    const Status done = RunApply(*arguments);
    exit_code = done.ok() ? 0 : Fail(done.error());
  });
}

}  // namespace stallscope::cli
