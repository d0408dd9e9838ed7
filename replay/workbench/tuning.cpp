#include "replay/workbench/tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <variant>

#include "analyzer/base/escape.h"
#include "analyzer/base/file.h"
#include "analyzer/importers/open_run.h"
#include "analyzer/model/content.h"
#include "analyzer/model/job_spec.h"
#include "analyzer/spec/job_knobs.h"
#include "analyzer/spec/knobs.h"
#include "analyzer/spec/patch.h"
#include "analyzer/spec/spec_json.h"
#include "analyzer/words/words.h"
#include "replay/rerun/core_limit.h"
#include "replay/whatif/price.h"
#include "replay/workbench/replaying.h"
#include "replay/workload/build_workload.h"

namespace stallscope::workbench {
namespace {

std::vector<Patch> IdeasOf(const report::Report& report) {
  std::vector<Patch> ideas;
  for (const report::FindingRow& finding : report.findings) {
    if (!finding.recommendation || finding.recommendation->patch.changes.empty()) continue;
    ideas.push_back(finding.recommendation->patch);
  }
  return ideas;
}

}  // namespace

Result<std::optional<Spec>> ReadIfSpec(const std::string& path) {
  STALLSCOPE_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  std::string begin(4096, '\0');
  STALLSCOPE_ASSIGN_OR_RETURN(const size_t got, file.ReadAt(0, begin.data(), begin.size()));
  begin.resize(got);
  if (model::LooksLike(begin) != model::Content::kJson) return std::optional<Spec>();
  STALLSCOPE_ASSIGN_OR_RETURN(const bool is_trace, importers::IsTrace(path));
  if (is_trace) return std::optional<Spec>();
  STALLSCOPE_ASSIGN_OR_RETURN(Spec spec, ReadSpecFile(path));
  return std::optional<Spec>(std::move(spec));
}

Result<TuneSubject> TuneSubject::Make(TuneRequest request, const std::optional<Spec>& spec) {
  TuneSubject subject;
  subject.request_ = std::move(request);
  if (!subject.request_.simulate_only) {
    STALLSCOPE_ASSIGN_OR_RETURN(ScratchFolder scratch, ScratchFolder::Make());
    subject.scratch_.emplace(std::move(scratch));
    subject.MakeBench(std::nullopt);
  }
  STALLSCOPE_RETURN_IF_ERROR(spec.has_value() ? subject.Record(*spec) : subject.TakeTrace());
  return subject;
}

void TuneSubject::MakeBench(const std::optional<replay::JobPlan>& job) {
  replay::RerunOptions options;
  options.program = request_.program;
  options.scratch = scratch_->path();
  options.job = job;
  bench_ = std::make_unique<replay::LiveBench>(std::move(options));
}

Status TuneSubject::Record(const Spec& spec) {
  if (bench_ == nullptr) {
    return Error{ErrorKind::kUsage, "a spec alone does not show what its stages cost",
                 request_.input, "record it first, or use --mode both"};
  }
  spec_ = spec;
  if (request_.steps) spec_.trainer.steps = *request_.steps;
  replay::RunWish wish{0, false, {}, request_.cancel, {}, true};
  bool told = false;
  wish.tell = [&](bool waiting) {
    if (waiting && request_.on_waiting && !std::exchange(told, true)) request_.on_waiting();
  };
  STALLSCOPE_ASSIGN_OR_RETURN(auto outcome, bench_->Measure(spec_, wish));
  if (outcome.failed.has_value()) return *std::move(outcome.failed);
  if (outcome.stopped) {
    return Error{ErrorKind::kRun, "stopped before the first run finished", "", ""};
  }
  opened_.run = std::make_shared<const model::Run>(std::move(outcome.rerun.run));
  opened_.attribution =
      std::make_shared<const attribution::Attribution>(std::move(outcome.rerun.attribution));
  runs_ = 1;
  return {};
}

Status TuneSubject::TakeTrace() {
  STALLSCOPE_ASSIGN_OR_RETURN(opened_, Open({request_.input}, request_.watch));
  auto spec = RecordedSpec(*opened_.run);
  if (spec.ok()) {
    spec_ = std::move(spec).value();
  } else {
    STALLSCOPE_RETURN_IF_ERROR(TakeStagesForSpec());
  }
  if (request_.steps) (IsJob(spec_) ? spec_.job.steps : spec_.trainer.steps) = *request_.steps;
  if (bench_ == nullptr) return {};
  plan_ = replay::PlanRerun(*opened_.run, spec_, request_.folder);
  spec_ = plan_->spec;
  if (!plan_->job.has_value()) return {};
  if (request_.goal == replay::TuneGoal::kCost) {
    return Error{ErrorKind::kUsage, "how many cores a job needs is not predicted", "--goal cost",
                 "leave the option out"};
  }
  STALLSCOPE_RETURN_IF_ERROR(replay::CheckCommand(*plan_->job));
  MakeBench(plan_->job);
  return {};
}

// A run that another profiler recorded is simulated by the stages that its trace shows.
Status TuneSubject::TakeStagesForSpec() {
  if (bench_ != nullptr) {
    return Error{ErrorKind::kInput, "the run has no spec to run", opened_.run->path,
                 "use --mode simulate; replay --emulate runs stages of the recorded cost"};
  }
  STALLSCOPE_ASSIGN_OR_RETURN(const replay::Workload workload,
                              replay::BuildWorkload(*opened_.run, *opened_.attribution));
  spec_ = workload.spec;
  notes_ = workload.recorded->limits;
  if (workload.recorded->counts_steps) counted_ = "steps";
  return {};
}

namespace {

std::string PythonOf(const std::string& value) {
  if (value == "true") return "True";
  if (value == "false") return "False";
  return value.find_first_not_of("0123456789") == std::string::npos ? value : "'" + value + "'";
}

}  // namespace

std::vector<std::pair<std::string, std::string>> TuneSubject::HowToSet(const Spec& best) const {
  std::vector<std::pair<std::string, std::string>> lines;
  if (!IsJob(best)) return lines;
  const replay::RerunPlan plan =
      plan_.has_value() ? *plan_ : replay::PlanRerun(*opened_.run, spec_, request_.folder);
  const replay::JobPlan& job = *plan.job;
  std::string settings;
  std::map<std::string, std::string> calls;
  for (const auto& change : Diff(spec_, best).changes) {
    const auto* set = std::get_if<SetChange>(&change);
    if (set == nullptr) continue;
    const auto value = GetKnob(best, set->path);
    if (!value.ok()) continue;
    settings += " --set " + ShellWord(set->path + "=" + value.value());
    const size_t dot = set->path.find('.');
    if (IsOtherLoaderKnob(set->path.substr(dot + 1))) continue;  // no argument of the constructor
    std::string& call = calls[set->path.substr(0, dot)];
    if (!call.empty()) call += ", ";
    call += set->path.substr(dot + 1) + "=" + PythonOf(value.value());
  }
  lines.emplace_back("run", "stallscope run" + settings + " -- " + ShellCommand(job.command));
  for (const replay::RecordedLoader& loader : job.loaders) {
    const auto call = calls.find(loader.name);
    if (call == calls.end()) continue;
    lines.emplace_back("code", words::PlaceInCode(loader.file, loader.line) + ": DataLoader(..., " +
                                   call->second + ")");
  }
  if (best.job.threads != spec_.job.threads) {
    lines.emplace_back("export", ThreadSettings(std::to_string(best.job.threads)));
  }
  return lines;
}

std::vector<findings::SourceChange> TuneSubject::SourceChanges(const Spec& best) const {
  return findings::SourceChangesOf(*opened_.run, Diff(spec_, best));
}

Result<replay::Tuned> TuneSubject::Run(const report::Report& report, const TuneWatch& watch) {
  auto predictor = replay::Predictor::Make(*opened_.run, *opened_.attribution);
  // A job that cannot be predicted is tuned by runs alone.
  if (!predictor.ok() && (bench_ == nullptr || !IsJob(spec_))) return predictor.error();
  if (predictor.ok()) predictor.value().SetOptions(replay::ShortSimulation());
  replay::Bench* bench = bench_.get();
  if (bench != nullptr && !request_.keep.empty()) {
    // A spec was recorded just now, and its runs are those of any time.
    const std::string subject =
        runs_ > 0 ? "" : std::to_string(opened_.run->info.start_realtime_ns);
    kept_ = std::make_unique<replay::KeptRuns>(request_.keep, subject, *bench);
    bench = kept_.get();
  }
  replay::TuneOptions options;
  options.goal = request_.goal;
  options.max_runs = request_.max_runs - runs_;
  options.ideas = IdeasOf(report);
  options.limits.memory_bytes = request_.memory_bytes;
  options.limits.cores = replay::AllowedCores();
  options.limits.threads = static_cast<unsigned>(options.limits.cores);
  const auto& loaders = opened_.run->loaders;
  options.limits.threads_of_job =
      std::all_of(loaders.begin(), loaders.end(), [](const model::Loader& loader) {
        return model::CallPlaceOf(loader.info, "math_threads").empty();
      });
  options.limits.stop_requested = request_.cancel;
  options.limits.simulated = watch.on_simulated;
  options.progress = watch.on_progress;
  const replay::Predictor* const predicts = predictor.ok() ? &predictor.value() : nullptr;
  STALLSCOPE_ASSIGN_OR_RETURN(replay::Tuned tuned, replay::Tune(predicts, spec_, bench, options));
  if (predicts != nullptr && bench != nullptr) {
    std::vector<const replay::Point*> points{&tuned.base.point};
    for (const replay::Try& tried : tuned.tries) points.push_back(&tried.point);
    replay::KeepErrors(*predicts, points);
  }
  return tuned;
}

}  // namespace stallscope::workbench
