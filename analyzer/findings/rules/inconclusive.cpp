// No answer, and what to record to get one.
#include <algorithm>

#include "analyzer/findings/rules/rule.h"
#include "analyzer/model/job_spec.h"

namespace stallscope::findings::inconclusive {
namespace {

// The flag of a Python that reads no PYTHONPATH, or no site: "-I", "-sE". Empty: there is none.
std::string IsolatingFlag(const std::vector<std::string>& arguments) {
  if (arguments.empty()) return "";
  const std::string& program = arguments[0];
  if (!program.substr(program.rfind('/') + 1).starts_with("python")) return "";
  for (size_t i = 1; i < arguments.size(); ++i) {
    const std::string& flag = arguments[i];
    if (flag.size() < 2 || flag[0] != '-' || flag[1] == '-') return "";
    const size_t value = flag.find_first_of("cmWX");  // what is behind these is theirs
    if (flag.substr(1, value - 1).find_first_of("IES") != std::string::npos) return flag;
    if (value == std::string::npos) continue;
    if (flag[value] == 'c' || flag[value] == 'm') return "";
    if (value + 1 == flag.size()) ++i;
  }
  return "";
}

std::string WhyNoSteps(const model::Run& run) {
  if (!model::IsJob(run)) return "record it with the training step marked";
  for (const trace::ProcessInfo& process : run.processes) {
    const std::string flag = IsolatingFlag(process.arguments);
    if (run.info.job.python.empty() && !flag.empty()) {
      return fmt::format("Python's {} keeps the recorder out of {}: start it without", flag,
                         process.name);
    }
  }
  return "mark each with stallscope.step() in the job's code";
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (c.verdict.bound != Bound::kInconclusive) return;
  const auto& quality = c.run.quality;
  std::string what = "record at least 20 steps after the warm-up";
  if (quality.dropped > 0) {
    what = fmt::format("{} events were dropped: record with fewer counters, or to a faster disk",
                       quality.dropped);
  } else if (quality.damaged_bytes > 0) {
    what = fmt::format("{} of the trace is damaged: record it again",
                       Bytes(static_cast<double>(quality.damaged_bytes)));
  } else if (c.run.rows.steps.empty()) {
    what = "the trace has no steps: " + WhyNoSteps(c.run);
  }
  Draft draft =
      About(c, StageId::None(), 0, "this trace does not show what bounds the run: " + what);
  draft.finding.severity = Severity::kInfo;
  drafts.push_back(std::move(draft));
}

}  // namespace

extern const Rule kRule = {.id = "inconclusive", .row = 0, .check = Check};

}  // namespace stallscope::findings::inconclusive
