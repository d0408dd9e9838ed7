#include "replay/workbench/tuning.h"

#include <utility>

#include "analyzer/base/file.h"
#include "analyzer/importers/open_run.h"
#include "analyzer/model/content.h"
#include "analyzer/spec/spec_json.h"
#include "replay/rerun/core_limit.h"
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
    replay::RerunOptions options;
    options.program = subject.request_.program;
    options.scratch = subject.scratch_->path();
    subject.bench_ = std::make_unique<replay::LiveBench>(std::move(options));
  }
  STALLSCOPE_RETURN_IF_ERROR(spec.has_value() ? subject.Record(*spec) : subject.TakeTrace());
  return subject;
}

Status TuneSubject::Record(const Spec& spec) {
  if (bench_ == nullptr) {
    return Error{ErrorKind::kUsage, "a spec alone does not show what its stages cost",
                 request_.input, "record it first, or use --mode both"};
  }
  spec_ = spec;
  if (request_.steps) spec_.trainer.steps = *request_.steps;
  replay::RunWish wish{0, false, request_.cancel, {}};
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
  auto recorded = ReadSpec(opened_.run->info.spec_json, opened_.run->path);
  if (recorded.ok()) {
    spec_ = std::move(recorded).value();
  } else {
    STALLSCOPE_RETURN_IF_ERROR(TakeStagesForSpec());
  }
  if (request_.steps) spec_.trainer.steps = *request_.steps;
  if (bench_ == nullptr) return {};
  plan_ = replay::PlanRerun(*opened_.run, spec_, request_.folder);
  spec_ = plan_->spec;
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

Result<replay::Tuned> TuneSubject::Run(const report::Report& report, const TuneWatch& watch) {
  STALLSCOPE_ASSIGN_OR_RETURN(auto predictor,
                              replay::Predictor::Make(*opened_.run, *opened_.attribution));
  predictor.SetOptions(replay::ShortSimulation());
  replay::TuneOptions options;
  options.goal = request_.goal;
  options.max_runs = request_.max_runs - runs_;
  options.ideas = IdeasOf(report);
  options.limits.memory_bytes = request_.memory_bytes;
  options.limits.cores = replay::AllowedCores();
  options.limits.threads = static_cast<unsigned>(options.limits.cores);
  options.limits.stop_requested = request_.cancel;
  options.limits.simulated = watch.on_simulated;
  options.progress = watch.on_progress;
  return replay::Tune(predictor, spec_, bench_.get(), options);
}

}  // namespace stallscope::workbench
