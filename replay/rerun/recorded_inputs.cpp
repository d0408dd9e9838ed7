#include "replay/rerun/recorded_inputs.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "analyzer/base/escape.h"
#include "collectors/capture/data_files.h"
#include "collectors/system/origin.h"

namespace stallscope::replay {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHint =
    "give the folder where the data is now (--folder), or run stages of the recorded cost "
    "(--emulate)";

// By the names alone: a link below the folder was put there by the user, not by the trace.
bool IsBelow(const fs::path& path, const fs::path& folder) {
  const fs::path normal = path.lexically_normal();
  const fs::path base = folder.lexically_normal();
  const auto [in_base, ignored] =
      std::mismatch(base.begin(), base.end(), normal.begin(), normal.end());
  // A folder that was written with a slash at its end has an empty last name.
  return in_base == base.end() || (in_base->empty() && std::next(in_base) == base.end());
}

std::string CurrentFolder() {
  std::error_code unknown;
  return fs::current_path(unknown).string();
}

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

}  // namespace

RerunPlan PlanRerun(const model::Run& run, const Spec& spec, const std::string& folder) {
  RerunPlan plan;
  plan.spec = spec;
  plan.recorded_here = system::RecordedHere(run.info);
  std::error_code unknown;
  plan.folder = folder.empty() ? run.info.folder : fs::absolute(folder, unknown).string();
  // A trace of an earlier version does not have it.
  if (plan.folder.empty()) plan.folder = CurrentFolder();
  if (IsJob(spec)) plan.job = PlanJob(run, spec, plan.folder);
  const bool moved = plan.folder != CurrentFolder();
  const fs::path recorded_in = run.info.folder;
  const auto reads = [&](std::string& path) {
    fs::path named = path;
    // What was below the recorded folder is below the one that the user names.
    if (!folder.empty() && named.is_absolute() && !recorded_in.empty() &&
        IsBelow(named, recorded_in)) {
      named = named.lexically_normal().lexically_relative(recorded_in.lexically_normal());
    }
    plan.reads.push_back((fs::path(plan.folder) / named).lexically_normal().string());
    if (!IsBelow(plan.reads.back(), plan.folder)) plan.outside.push_back(plan.reads.back());
    // Where nothing moved the spec stays as it was written, and so does what is made from it.
    if (moved) path = plan.reads.back();
  };
  for (StageSpec& stage : plan.spec.stages) {
    if (auto* const source = std::get_if<SourceSpec>(&stage.kind)) {
      for (std::string& pattern : source->files) reads(pattern);
    }
    // A store that is there is opened, to see whether it is of this very run.
    if (auto* const cache = std::get_if<CacheSpec>(&stage.kind)) {
      if (cache->where == CacheWhere::kDisk && !cache->path.empty()) reads(cache->path);
    }
    if (auto* const snapshot = std::get_if<SnapshotSpec>(&stage.kind)) reads(snapshot->path);
  }
  return plan;
}

std::string RerunPlan::Reason() const {
  if (!recorded_here) return "it was recorded on another machine or by another user";
  if (job.has_value()) return "it runs your own program, which may write its files again";
  return "it reads outside the folder where it was recorded: " + Joined(outside);
}

std::vector<std::string> RerunPlan::Lines(const std::string& output) const {
  const std::string own = output.empty() ? std::string() : output + " and ";
  if (job.has_value()) {
    return {"reads what the command reads",
            "runs " + ShellCommand(job->command) + " in " + folder + ", up to " +
                std::to_string(spec.job.steps) + " steps at a time",
            "writes " + own +
                "what the command writes; TMPDIR is a scratch folder, which is "
                "removed afterward"};
  }
  return {"reads " + (reads.empty() ? std::string("no files") : Joined(reads)),
          "runs " + std::to_string(spec.stages.size()) + " stages of its spec, and the trainer",
          "writes " + own + "a scratch folder, which is removed afterward"};
}

Status CheckData(const model::Run& run, const RerunPlan& plan) {
  if (plan.job.has_value()) return CheckJobIsThere(*plan.job);
  const auto data = capture::FindDataFiles(plan.spec);
  if (!data.ok()) {
    return Error{ErrorKind::kInput, "cannot find the run's data: " + data.error().Line(), run.path,
                 kHint};
  }
  const std::string& then = run.info.data_fingerprint;
  const std::string& now = data.value().fingerprint;
  if (then.empty() || then == now) return {};
  return Error{ErrorKind::kInput,
               "the data has changed: its fingerprint is " + now + ", the recorded one was " + then,
               run.path, kHint};
}

}  // namespace stallscope::replay
