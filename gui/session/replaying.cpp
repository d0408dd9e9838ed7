#include "gui/session/replaying.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "analyzer/base/clock.h"
#include "analyzer/base/units.h"
#include "analyzer/model/job_spec.h"
#include "replay/rerun/recorded_inputs.h"
#include "replay/sweep/measured_gains.h"
#include "replay/sweep/sweep_file.h"
#include "replay/sweep/sweep_table.h"
#include "replay/workbench/replaying.h"

namespace stallscope::session {
namespace {

constexpr int64_t kTableEveryNs = 500 * kNsPerMs;
constexpr unsigned kVerifyRepeats = 2;

// Where people look for it: RUN.sweep.json beside RUN.sst.
std::string SweepPathBeside(const std::string& trace, const std::string& fallback) {
  const std::filesystem::path path(trace);
  std::filesystem::path folder = path.parent_path().empty() ? "." : path.parent_path();
  if (access(folder.c_str(), W_OK) != 0) folder = fallback;
  return (folder / (path.stem().string() + ".sweep.json")).string();
}

std::string NewName(const std::string& wanted) {
  std::error_code failed;
  std::filesystem::path path(wanted);
  const std::string stem = path.stem().string();
  for (int number = 2; std::filesystem::exists(path, failed); ++number) {
    path.replace_filename(stem + "-" + std::to_string(number) + ".json");
  }
  return path.string();
}

workbench::ReplayOptions OptionsOf(const ReplayCall& call, replay::SweepMode mode) {
  workbench::ReplayOptions options;
  options.mode = mode;
  options.emulate = call.emulate;
  options.folder = call.folder;
  return options;
}

// Whether the data is there, before anything is run. Nothing is read where nothing recorded runs.
std::optional<Error> LostData(const ReplayCall& call, const workbench::ReplaySubject& subject) {
  if (!subject.plan().has_value()) return std::nullopt;
  const Status there = replay::CheckData(*call.opened.run, *subject.plan());
  if (there.ok()) return std::nullopt;
  return there.error();
}

ReplayEnd EndWithout(Error lost) {
  ReplayEnd end;
  end.lost_data = std::move(lost);
  return end;
}

// What RunSweep needs besides its points. `call` must outlive it.
workbench::SweepRun HowToRun(const ReplayCall& call, const std::string& path) {
  workbench::SweepRun how;
  how.output = path;
  how.program = call.program;
  how.threads = call.threads;
  how.cancel = call.cancel;
  how.progress = [&call, path, shown_ns = int64_t{0}](const replay::SweepProgress& at) mutable {
    if (!call.tell) return;
    ReplayTold told{std::string(WordFor(at.phase)), at.done, at.total, nullptr};
    const int64_t now = MonotonicNs();
    if (now - shown_ns >= kTableEveryNs) {
      shown_ns = now;
      auto table = ReadSweepTable(path);
      if (table.ok()) told.table = std::move(table).value();
    }
    call.tell(told);
  };
  return how;
}

ReplayEnd EndOf(const ReplayCall& call, const replay::Sweep& sweep, std::string path) {
  ReplayEnd end;
  end.table = std::make_shared<const report::SweepTable>(replay::TableOf(sweep));
  end.path = std::move(path);
  end.stopped = !replay::IsComplete(sweep);
  end.emulated = sweep.emulated;
  // What an emulation gains is no gain of the run.
  if (call.report != nullptr && sweep.kind == replay::SweepKind::kVerify && !sweep.emulated) {
    report::Report report = *call.report;
    // A file in the fallback folder is not found beside the trace.
    std::vector<replay::Sweep> all = replay::FindVerifications(*call.opened.run);
    if (std::filesystem::path(end.path).parent_path() == call.fallback) all.push_back(sweep);
    replay::SetMeasuredGains(all, report);
    end.report = std::make_shared<const report::Report>(std::move(report));
  }
  return end;
}

// Why nothing could be measured, where a finding was to be.
Status CheckVerification(const replay::Sweep& sweep, const std::optional<Patch>& wanted) {
  const replay::Point& base = replay::BaseOf(sweep);
  if (!base.error.empty()) {
    return Error{ErrorKind::kRun, "the recorded configuration failed: " + base.error, "", ""};
  }
  for (const replay::Point& point : sweep.points) {
    if (wanted.has_value() && point.patch == wanted && !point.error.empty()) {
      return Error{ErrorKind::kRun, "the changed configuration failed: " + point.error, "", ""};
    }
  }
  return {};
}

// The points of an earlier verification of this run go on being there: a sweep file loses nothing.
bool TakeEarlierPoints(const std::string& path, const model::Run& run, replay::Sweep& planned) {
  const auto earlier = replay::ReadSweepFile(path);
  if (!earlier.ok() || earlier.value().kind != replay::SweepKind::kVerify || planned.emulated ||
      earlier.value().emulated || earlier.value().first_epoch ||
      earlier.value().recorded_ns != run.info.start_realtime_ns ||
      earlier.value().spec_json != planned.spec_json) {
    return false;
  }
  for (const replay::Point& point : earlier.value().points) {
    const auto same = [&](const replay::Point& other) { return other.patch == point.patch; };
    if (std::any_of(planned.points.begin(), planned.points.end(), same)) continue;
    // One that was never finished is not resumed: nobody asked for it, and the file may have
    // come with the trace.
    if (point.runs.size() < earlier.value().repeats && point.error.empty()) continue;
    replay::Point kept;
    kept.name = point.name;
    kept.patch = point.patch;
    kept.cores = point.cores;
    planned.points.push_back(std::move(kept));
  }
  planned.repeats = earlier.value().repeats;
  return true;
}

}  // namespace

std::optional<Question> RerunQuestionOf(const ReplayCall& call) {
  if (call.emulate) return std::nullopt;
  const model::Run& run = *call.opened.run;
  const auto spec = workbench::RecordedSpec(run);
  if (!spec.ok()) return std::nullopt;
  const replay::RerunPlan plan = replay::PlanRerun(run, spec.value(), call.folder);
  if (!plan.NeedsYes()) return std::nullopt;
  Question question;
  question.title = "Run what this trace contains?";
  question.lines = {run.path + ": " + plan.Reason()};
  for (const std::string& line : plan.Lines(SweepPathBeside(run.path, "a scratch folder"))) {
    question.lines.push_back(line);
  }
  return question;
}

Question LostDataQuestionOf(const ReplayCall& call, const Error& lost) {
  Question question;
  question.kind = Question::Kind::kLostData;
  question.title = "Where is the data of this run?";
  question.lines = {lost.what};
  question.folder = call.folder.empty() ? call.opened.run->info.folder : call.folder;
  if (!question.folder.empty()) {
    question.lines.push_back("Relative paths start at " + question.folder);
  }
  question.lines.emplace_back(
      model::IsJob(*call.opened.run)
          ? "Name the folder where the job is now."
          : "Name the folder where it is now, or emulate the run: stages of the recorded cost, "
            "without the data.");
  return question;
}

VaryCheck CheckVary(const std::vector<std::string>& vary, const Spec& spec) {
  VaryCheck check;
  std::vector<std::string> lines;
  bool fine = true;
  for (const std::string& line : vary) {
    check.problems.emplace_back();
    if (line.empty()) continue;
    lines.push_back(line);
    // Together with those before it: the same path twice is this line's problem.
    const auto grid = replay::ParseGrid(lines, spec);
    if (grid.ok()) continue;
    check.problems.back() = grid.error().Line();
    lines.pop_back();
    fine = false;
  }
  const auto grid = replay::ParseGrid(lines, spec);
  if (fine && grid.ok() && !lines.empty()) check.points = replay::CountPoints(grid.value());
  return check;
}

Result<ReplayEnd> ReplayGrid(const ReplayCall& call, const std::vector<std::string>& vary,
                             SweepRunMode mode, unsigned repeats) {
  STALLSCOPE_ASSIGN_OR_RETURN(auto subject,
                              workbench::ReplaySubject::Make(call.opened, OptionsOf(call, mode)));
  if (auto lost = LostData(call, subject)) return EndWithout(*std::move(lost));
  std::vector<std::string> lines;
  std::copy_if(vary.begin(), vary.end(), std::back_inserter(lines),
               [](const std::string& line) { return !line.empty(); });
  STALLSCOPE_ASSIGN_OR_RETURN(const workbench::GridPlan grid, subject.ReadGrid(lines, {}));
  if (grid.points > replay::kManyPoints) {
    return Error{ErrorKind::kUsage, "the grid has " + std::to_string(grid.points) + " points", "",
                 "vary fewer knobs, or let stallscope tune find the best"};
  }
  replay::Sweep planned = subject.PlanGrid(grid);
  planned.repeats = std::max(repeats, 1U);
  const std::string path = NewName(SweepPathBeside(call.opened.run->path, call.fallback));
  STALLSCOPE_ASSIGN_OR_RETURN(const replay::Sweep done, subject.Run(planned, HowToRun(call, path)));
  return EndOf(call, done, path);
}

Result<ReplayEnd> VerifyFindings(const ReplayCall& call, std::optional<size_t> finding) {
  const model::Run& run = *call.opened.run;
  STALLSCOPE_ASSIGN_OR_RETURN(
      auto subject,
      workbench::ReplaySubject::Make(call.opened, OptionsOf(call, replay::SweepMode::kBoth)));
  if (auto lost = LostData(call, subject)) return EndWithout(*std::move(lost));
  replay::Sweep planned = subject.PlanVerification(*call.report);
  planned.repeats = kVerifyRepeats;
  std::optional<Patch> wanted;
  if (finding.has_value() && *finding < call.report->findings.size()) {
    const auto& recommendation = call.report->findings[*finding].recommendation;
    if (recommendation.has_value()) wanted = recommendation->patch;
    planned.points.erase(
        std::remove_if(planned.points.begin(), planned.points.end(),
                       [&](const replay::Point& point) { return point.patch != wanted; }),
        planned.points.end());
  }
  if (planned.points.empty()) {
    return Error{ErrorKind::kUsage, "no recommendation that a replay could try", run.path, ""};
  }
  std::string path = SweepPathBeside(run.path, call.fallback);
  const bool resume = TakeEarlierPoints(path, run, planned);
  if (!resume) path = NewName(path);
  workbench::SweepRun how = HowToRun(call, path);
  how.resume = resume;
  how.combine = !finding.has_value();
  STALLSCOPE_ASSIGN_OR_RETURN(const replay::Sweep done, subject.Run(planned, how));
  if (replay::IsComplete(done)) STALLSCOPE_RETURN_IF_ERROR(CheckVerification(done, wanted));
  return EndOf(call, done, path);
}

Result<std::shared_ptr<const report::SweepTable>> ReadSweepTable(const std::string& path) {
  STALLSCOPE_ASSIGN_OR_RETURN(const replay::Sweep sweep, replay::ReadSweepFile(path));
  return std::make_shared<const report::SweepTable>(replay::TableOf(sweep));
}

}  // namespace stallscope::session
