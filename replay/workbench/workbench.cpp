#include "replay/workbench/workbench.h"

#include <utility>

#include "analyzer/attribution/partition.h"
#include "analyzer/importers/open_run.h"
#include "analyzer/model/ranks.h"
#include "analyzer/words/words.h"
#include "replay/sweep/measured_gains.h"
#include "replay/whatif/price.h"

namespace stallscope::workbench {
namespace {

std::optional<Examined> With(std::shared_ptr<const model::Run> run,
                             attribution::GroundworkPtr groundwork, const Control& control) {
  if (groundwork == nullptr) return std::nullopt;
  auto attribution = attribution::Attribute(*groundwork, control.threads, control.cancel);
  if (!attribution.has_value()) return std::nullopt;
  return Examined{
      {std::move(run), std::make_shared<const attribution::Attribution>(*std::move(attribution))},
      std::move(groundwork)};
}

}  // namespace

Result<std::shared_ptr<const model::Run>> Read(const std::vector<std::string>& paths,
                                               const ReadWatch& watch) {
  std::vector<model::Run> ranks;
  std::vector<std::string> warnings;
  for (const std::string& path : paths) {
    model::OnProgress of_all;
    if (watch.on_progress) {
      of_all = [&, before = static_cast<double>(ranks.size()),
                all = static_cast<double>(paths.size())](std::optional<double> part) {
        return watch.on_progress(part ? std::optional((before + *part) / all) : std::nullopt);
      };
    }
    STALLSCOPE_ASSIGN_OR_RETURN(model::Run run, importers::OpenRun(path, of_all));
    warnings.insert(warnings.end(), run.quality.warnings.begin(), run.quality.warnings.end());
    ranks.push_back(std::move(run));
  }
  if (watch.on_warning) {
    for (const std::string& warning : words::Condensed(warnings)) watch.on_warning(warning);
  }
  STALLSCOPE_ASSIGN_OR_RETURN(model::Run run,
                              model::MergeRanks(std::move(ranks), &attribution::IsCommunication));
  return std::make_shared<const model::Run>(std::move(run));
}

std::optional<Examined> Examine(std::shared_ptr<const model::Run> run, const Control& control) {
  auto groundwork = attribution::LayGroundwork(*run, control.threads, control.cancel);
  return With(std::move(run), std::move(groundwork), control);
}

std::optional<Examined> ExamineRange(std::shared_ptr<const model::Run> run, int64_t start_ns,
                                     int64_t end_ns, const Control& control) {
  auto groundwork =
      attribution::LayGroundworkOfRange(*run, start_ns, end_ns, control.threads, control.cancel);
  return With(std::move(run), std::move(groundwork), control);
}

Result<Opened> Open(const std::vector<std::string>& paths, const ReadWatch& watch, RunPart part) {
  STALLSCOPE_ASSIGN_OR_RETURN(auto run, Read(paths, watch));
  if (part == RunPart::kSteady) return Examine(std::move(run), {})->opened;
  auto groundwork = attribution::LayGroundworkOfFirstEpoch(*run, Control{}.threads);
  return With(std::move(run), std::move(groundwork), {})->opened;
}

report::Report Analyze(const Opened& opened, const AnalyzeOptions& options) {
  report::Report report = replay::ReportOn(*opened.run, *opened.attribution, options.price);
  // Verifications stored next to the trace measured the steady part.
  if (options.measured && !report.first_epoch) {
    replay::SetMeasuredGains(replay::FindVerifications(*opened.run), report);
  }
  return report;
}

compare::RunSummary Summarize(const Opened& opened) {
  return compare::Summarise(*opened.run, *opened.attribution);
}

Result<std::vector<compare::RunSummary>> Summarize(const std::vector<std::string>& paths,
                                                   const ReadWatch& watch, RunPart part) {
  std::vector<compare::RunSummary> summaries;
  for (const std::string& path : paths) {
    STALLSCOPE_ASSIGN_OR_RETURN(const Opened opened, Open({path}, watch, part));
    summaries.push_back(Summarize(opened));
  }
  return summaries;
}

}  // namespace stallscope::workbench
