#include "gui/session/replaying.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "analyzer/base/clock.h"
#include "analyzer/base/folders.h"
#include "analyzer/base/units.h"
#include "analyzer/spec/spec_json.h"
#include "replay/rerun/core_limit.h"
#include "replay/rerun/recorded_inputs.h"
#include "replay/sweep/measured_gains.h"
#include "replay/sweep/plan.h"
#include "replay/sweep/run_sweep.h"
#include "replay/sweep/sweep_table.h"

namespace stallscope::session {
namespace {

constexpr int64_t kTableEveryNs = 500 * kNsPerMs;
constexpr unsigned kVerifyRepeats = 2;

replay::SweepMode ModeOf(SweepRunMode mode) {
  if (mode == SweepRunMode::kSimulate) return replay::SweepMode::kSimulate;
  return mode == SweepRunMode::kRerun ? replay::SweepMode::kRerun : replay::SweepMode::kBoth;
}

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

// Everything that a sweep needs besides its points.
class Bench {
 public:
  static Result<std::unique_ptr<Bench>> Make(const ReplaySubject& subject, replay::SweepMode mode) {
    STALLSCOPE_ASSIGN_OR_RETURN(ScratchFolder scratch, ScratchFolder::Make());
    auto bench = std::unique_ptr<Bench>(new Bench(subject, std::move(scratch)));
    STALLSCOPE_ASSIGN_OR_RETURN(bench->spec_, SpecOfRun(*subject.run, *subject.attribution));
    bench->recorded_ = bench->spec_;
    auto predictor = replay::Predictor::Make(*subject.run, *subject.attribution);
    if (predictor.ok()) {
      bench->predictor_ = std::move(predictor).value();
    } else if (mode == replay::SweepMode::kSimulate) {
      return predictor.error();
    } else {
      bench->warnings_.push_back("nothing is predicted: " + predictor.error().Line());
      mode = replay::SweepMode::kRerun;
    }
    if (mode != replay::SweepMode::kSimulate) {
      if (subject.run->info.spec_json.empty()) {
        return Error{ErrorKind::kInput, "the run has no spec that could be run", subject.run->path,
                     "simulate it, or use stallscope replay --emulate"};
      }
      const auto plan = replay::PlanRerun(*subject.run, bench->spec_, "");
      STALLSCOPE_RETURN_IF_ERROR(replay::CheckData(*subject.run, plan));
      bench->spec_ = plan.spec;
    }
    bench->mode_ = mode;
    return bench;
  }

  const Spec& spec() const { return spec_; }
  replay::Predictor* predictor() { return predictor_ ? &*predictor_ : nullptr; }

  replay::Sweep NewSweep() const {
    replay::Sweep sweep = replay::SweepOf(*subject_.run, recorded_);
    sweep.mode = mode_;
    sweep.warnings = warnings_;
    return sweep;
  }

  Result<replay::Sweep> Run(const replay::Sweep& planned, const std::string& path, bool resume) {
    replay::SweepWork work;
    work.file = {path, resume, replay::Job{}, subject_.stop_requested};
    work.spec = spec_;
    work.predicted_spec = spec_;
    if (mode_ != replay::SweepMode::kRerun && predictor_) {
      predictor_->SetOptions(replay::SimulationFor(planned.points.size()));
      work.predictor = &*predictor_;
    }
    if (mode_ != replay::SweepMode::kSimulate) work.bench = &runs_;
    work.threads = subject_.threads;
    work.stop_requested = subject_.stop_requested;
    work.progress = [&](const replay::SweepProgress& at) { Tell(at, path); };
    return replay::RunSweep(planned, work);
  }

 private:
  Bench(const ReplaySubject& subject, ScratchFolder scratch)
      : subject_(subject), scratch_(std::move(scratch)), runs_(OptionsOf(subject, scratch_)) {}

  static replay::RerunOptions OptionsOf(const ReplaySubject& subject,
                                        const ScratchFolder& scratch) {
    replay::RerunOptions options;
    options.program = subject.program;
    options.scratch = scratch.path();
    return options;
  }

  void Tell(const replay::SweepProgress& at, const std::string& path) {
    if (!subject_.tell) return;
    ReplayTold told{at.doing, at.done, at.total, nullptr};
    const int64_t now = MonotonicNs();
    if (now - last_table_ns_ >= kTableEveryNs) {
      last_table_ns_ = now;
      auto table = ReadSweepTable(path);
      if (table.ok()) told.table = std::move(table).value();
    }
    subject_.tell(told);
  }

  const ReplaySubject& subject_;
  const ScratchFolder scratch_;
  replay::LiveBench runs_;
  Spec recorded_;  // what tells the sweep's run from another, wherever its data is now
  Spec spec_;
  std::optional<replay::Predictor> predictor_;
  replay::SweepMode mode_ = replay::SweepMode::kBoth;
  std::vector<std::string> warnings_;
  int64_t last_table_ns_ = 0;
};

ReplayEnd EndOf(const ReplaySubject& subject, const replay::Sweep& sweep, std::string path) {
  ReplayEnd end;
  end.table = std::make_shared<const report::SweepTable>(replay::TableOf(sweep));
  end.path = std::move(path);
  end.stopped = !replay::IsComplete(sweep);
  if (subject.report != nullptr && sweep.kind == replay::SweepKind::kVerify) {
    report::Report report = *subject.report;
    replay::SetMeasuredGains(sweep, report);
    end.report = std::make_shared<const report::Report>(std::move(report));
  }
  return end;
}

// Why nothing could be measured, where a finding was to be.
Status JudgeVerification(const replay::Sweep& sweep, const std::optional<Patch>& wanted) {
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
  if (!earlier.ok() || earlier.value().kind != replay::SweepKind::kVerify ||
      earlier.value().emulated || earlier.value().recorded_ns != run.info.start_realtime_ns) {
    return false;
  }
  for (const replay::Point& point : earlier.value().points) {
    const auto same = [&](const replay::Point& other) { return other.patch == point.patch; };
    if (std::any_of(planned.points.begin(), planned.points.end(), same)) continue;
    // One that was never finished is not gone on with: nobody asked for it, and the file may have
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

std::optional<Question> RerunQuestionOf(const model::Run& run, const Spec& spec) {
  const replay::RerunPlan plan = replay::PlanRerun(run, spec, "");
  if (!plan.NeedsYes()) return std::nullopt;
  Question question;
  question.title = "Run what this trace contains?";
  question.lines = {run.path + ": " + plan.Reason()};
  for (const std::string& line : plan.Lines(SweepPathBeside(run.path, "a scratch folder"))) {
    question.lines.push_back(line);
  }
  return question;
}

Result<Spec> SpecOfRun(const model::Run& run, const attribution::Attribution& attribution) {
  auto spec = ReadSpec(run.info.spec_json, run.path);
  if (spec.ok() || !run.info.spec_json.empty()) return spec;
  STALLSCOPE_ASSIGN_OR_RETURN(const replay::Predictor predictor,
                              replay::Predictor::Make(run, attribution));
  return predictor.workload().spec;
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

Result<ReplayEnd> ReplayGrid(const ReplaySubject& subject, const std::vector<std::string>& vary,
                             SweepRunMode mode, unsigned repeats, const std::string& fallback) {
  STALLSCOPE_ASSIGN_OR_RETURN(const auto bench, Bench::Make(subject, ModeOf(mode)));
  std::vector<std::string> lines;
  std::copy_if(vary.begin(), vary.end(), std::back_inserter(lines),
               [](const std::string& line) { return !line.empty(); });
  STALLSCOPE_ASSIGN_OR_RETURN(const auto axes, replay::ParseGrid(lines, bench->spec()));
  if (replay::CountPoints(axes) > replay::kManyPoints) {
    return Error{ErrorKind::kUsage,
                 "the grid has " + std::to_string(replay::CountPoints(axes)) + " points", "",
                 "vary fewer knobs, or let stallscope tune look for the best"};
  }
  replay::Sweep planned = bench->NewSweep();
  planned.repeats = std::max(repeats, 1U);
  replay::PlanGrid(bench->spec(), axes, {}, planned);
  const std::string path = NewName(SweepPathBeside(subject.run->path, fallback));
  STALLSCOPE_ASSIGN_OR_RETURN(const replay::Sweep done,
                              bench->Run(planned, path, /*resume=*/false));
  return EndOf(subject, done, path);
}

Result<ReplayEnd> VerifyFindings(const ReplaySubject& subject, std::optional<size_t> finding,
                                 const std::string& fallback) {
  STALLSCOPE_ASSIGN_OR_RETURN(const auto bench, Bench::Make(subject, replay::SweepMode::kBoth));
  replay::Sweep planned = bench->NewSweep();
  planned.repeats = kVerifyRepeats;
  replay::PlanVerification(*subject.report, planned);
  std::optional<Patch> wanted;
  if (finding.has_value() && *finding < subject.report->findings.size()) {
    const auto& recommendation = subject.report->findings[*finding].recommendation;
    if (recommendation.has_value()) wanted = recommendation->patch;
    planned.points.erase(
        std::remove_if(planned.points.begin(), planned.points.end(),
                       [&](const replay::Point& point) { return point.patch != wanted; }),
        planned.points.end());
  }
  if (planned.points.empty()) {
    return Error{ErrorKind::kUsage, "nothing is recommended that a replay could try",
                 subject.run->path, ""};
  }
  std::string path = SweepPathBeside(subject.run->path, fallback);
  const bool resume = TakeEarlierPoints(path, *subject.run, planned);
  if (!resume) path = NewName(path);
  STALLSCOPE_ASSIGN_OR_RETURN(replay::Sweep done, bench->Run(planned, path, resume));
  if (!finding.has_value() && replay::IsComplete(done)) {
    replay::PlanCombination(bench->spec(), bench->predictor(), done);
    STALLSCOPE_ASSIGN_OR_RETURN(done, bench->Run(done, path, /*resume=*/true));
  }
  if (replay::IsComplete(done)) STALLSCOPE_RETURN_IF_ERROR(JudgeVerification(done, wanted));
  return EndOf(subject, done, path);
}

Result<std::shared_ptr<const report::SweepTable>> ReadSweepTable(const std::string& path) {
  STALLSCOPE_ASSIGN_OR_RETURN(const replay::Sweep sweep, replay::ReadSweepFile(path));
  return std::make_shared<const report::SweepTable>(replay::TableOf(sweep));
}

}  // namespace stallscope::session
