// No answer, or not by which stage, and what to record to get one.
#include "analyzer/findings/rules/rule.h"
#include "analyzer/model/job_spec.h"
#include "analyzer/model/python_command.h"

namespace stallscope::findings::inconclusive {
namespace {

std::string WhyNoSteps(const model::Run& run) {
  if (!model::IsJob(run)) return "record it with the training step marked";
  // A process is what it was when it was first seen: a launcher's script, for instance.
  std::vector<std::vector<std::string>> commands{run.info.job.command};
  for (const trace::ProcessInfo& process : run.processes) commands.push_back(process.arguments);
  for (const std::vector<std::string>& command : commands) {
    const auto python = model::PythonCommandOf(command);
    if (!run.info.job.python.empty() || !python || python->isolating.empty()) continue;
    return fmt::format("Python's {} keeps the recorder out: start it without", python->isolating);
  }
  return "mark each with stallscope.step() in the job's code";
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (c.verdict.bound != Bound::kInconclusive && !c.verdict.beside_profile) return;
  const auto& quality = c.run.quality;
  std::string what = "record at least 20 steps after the warm-up";
  if (quality.dropped > 0) {
    what = fmt::format("{} events were dropped: record with fewer counters, or to a faster disk",
                       quality.dropped);
  } else if (quality.damaged_bytes > 0) {
    what = fmt::format("{} of the trace is damaged: record it again",
                       Bytes(static_cast<double>(quality.damaged_bytes)));
  } else if (c.attribution.window.profiled_of >= kManySteps) {
    what = "record it for longer: other steps may be profiled then";
  } else if (c.run.rows.steps.empty()) {
    what = "the trace has no steps: " + WhyNoSteps(c.run);
  }
  Draft draft =
      About(c, StageId::None(), 0,
            fmt::format("this trace does not show what {}: {}",
                        c.verdict.beside_profile ? "the input waits for" : "bounds the run", what));
  draft.finding.severity = Severity::kInfo;
  drafts.push_back(std::move(draft));
}

}  // namespace

extern const Rule kRule = {.id = "inconclusive", .row = 0, .check = Check};

}  // namespace stallscope::findings::inconclusive
