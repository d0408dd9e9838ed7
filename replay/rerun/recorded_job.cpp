#include "replay/rerun/recorded_job.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "analyzer/base/escape.h"
#include "analyzer/base/units.h"
#include "analyzer/model/graph.h"
#include "analyzer/model/job_spec.h"
#include "analyzer/model/python_command.h"
#include "analyzer/spec/job_knobs.h"
#include "analyzer/spec/knobs.h"
#include "analyzer/spec/patch.h"

namespace stallscope::replay {
namespace {

namespace fs = std::filesystem;

// Of a re-run, by the recorded steps: as long as an interval needs on a machine that is not quiet.
constexpr int64_t kLongEnoughNs = 15 * kNsPerSecond;
constexpr size_t kFewestSteps = 100;
// Settings may be that much slower, and still be figures.
constexpr int64_t kMuchSlower = 10;
constexpr int64_t kToStartNs = 120 * kNsPerSecond;

size_t EnoughSteps(const std::vector<trace::Step>& steps) {
  if (steps.size() <= kFewestSteps) return steps.size();
  const int64_t begin_ns = steps.front().requested_ns;
  size_t enough = kFewestSteps;
  while (enough < steps.size() && steps[enough - 1].received_ns - begin_ns < kLongEnoughNs) {
    ++enough;
  }
  if (model::PassOfBatch(steps.front().batch) == model::PassOfBatch(steps.back().batch))
    return enough;
  // Workers start with each epoch: where that is often, as often as in the whole run.
  size_t whole = enough;
  while (whole < steps.size() &&
         model::PassOfBatch(steps[whole].batch) == model::PassOfBatch(steps[enough - 1].batch))
    ++whole;
  return whole <= 2 * enough ? whole : enough;
}

// `--steps` is of each process that trains: the first one's.
std::vector<trace::Step> StepsOfOne(const model::Run& run) {
  std::vector<trace::Step> steps;
  for (size_t i = 0; i < run.rows.steps.size(); ++i) {
    if (run.RankOfStep(i) == run.RankOfStep(0)) steps.push_back(run.rows.steps[i]);
  }
  return steps;
}

// A file below the recorded folder is below the one where the job is now.
std::string Moved(const std::string& file, const std::string& from, const std::string& to) {
  if (file.empty() || from.empty() || from == to) return file;
  const fs::path relative = fs::path(file).lexically_relative(from);
  if (relative.empty() || *relative.begin() == "..") return file;
  return (fs::path(to) / relative).lexically_normal().string();
}

bool CanRunFile(const std::string& path) {
  std::error_code unknown;
  return fs::is_regular_file(path, unknown) && access(path.c_str(), X_OK) == 0;
}

// As execvp() looks for it in the job's folder.
bool IsThere(const std::string& program, const std::string& folder) {
  if (program.find('/') != std::string::npos) return CanRunFile((fs::path(folder) / program));
  const char* const path = std::getenv("PATH");
  std::string places = path == nullptr ? "/usr/bin:/bin" : path;
  for (size_t at = 0; at <= places.size();) {
    const size_t end = std::min(places.find(':', at), places.size());
    const fs::path place = fs::path(folder) / places.substr(at, end - at);
    if (CanRunFile((place / program).string())) return true;
    at = end + 1;
  }
  return false;
}

// The settings of the job that differ, as paths, in the spec's order.
std::vector<std::string> ChangedPaths(const Spec& recorded, const Spec& spec) {
  std::vector<std::string> paths;
  for (const auto& change : Diff(recorded, spec).changes) {
    const auto* set = std::get_if<SetChange>(&change);
    if (set != nullptr && set->path != "job.steps") paths.push_back(set->path);
  }
  return paths;
}

const RecordedLoader* LoaderOf(const JobPlan& job, const std::string& path) {
  const std::string name = path.substr(0, path.find('.'));
  const auto found = std::find_if(job.loaders.begin(), job.loaders.end(),
                                  [&](const RecordedLoader& l) { return l.name == name; });
  return found == job.loaders.end() ? nullptr : &*found;
}

const LoaderSpec& SettingsOf(const Spec& spec, const std::string& name) {
  const auto found = std::find_if(spec.stages.begin(), spec.stages.end(),
                                  [&](const StageSpec& stage) { return stage.name == name; });
  return std::get<LoaderSpec>(found->kind);
}

// A constructor ignores these where nothing works ahead.
bool NeedsWorkers(const std::string& field) {
  return field == "prefetch_factor" || field == "persistent_workers" ||
         field == "multiprocessing_context" || field == "in_order";
}

// The call at "data.py:7", which is in `file` if that has this name: the trace has no more of it.
std::optional<RecordedCall> CallAt(std::string_view knob, const std::string& at,
                                   const std::string& file) {
  const size_t colon = at.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  const std::string name = at.substr(0, colon);
  RecordedCall call{std::string(knob), fs::path(file).filename() == name ? file : name, 0};
  std::from_chars(at.data() + colon + 1, at.data() + at.size(), call.line);
  if (call.line == 0) return std::nullopt;
  return call;
}

// The calls behind `loader`, which is constructed in `file` now.
std::vector<RecordedCall> CallsOf(const trace::LoaderInfo& loader, const std::string& file) {
  constexpr std::string_view kCalls = "num_parallel_calls";
  std::vector<RecordedCall> calls;
  const auto add = [&](std::optional<RecordedCall> call) {
    if (call && std::find(calls.begin(), calls.end(), *call) == calls.end()) {
      calls.push_back(*std::move(call));
    }
  };
  for (const model::GraphNode& node : model::GraphOf(loader)) {
    const std::string_view method = model::BaseOf(node.op);
    if (method != "Map" && method != "Interleave") continue;
    if (node.line != 0) add(RecordedCall{std::string(kCalls), file, node.line});
    add(CallAt(kCalls, node.elsewhere, file));
  }
  for (const std::string_view knob : {"num_workers", "prefetch", "threads", "num_shards"}) {
    add(CallAt(knob, model::CallPlaceOf(loader, knob), file));
  }
  return calls;
}

Error CannotSet(const std::string& path, const std::string& why, const std::string& hint) {
  return {ErrorKind::kUsage, path + " cannot be set: " + why, "", hint};
}

}  // namespace

std::optional<Spec> RecordedJob(const model::Run& run) {
  auto spec = model::JobSpecOf(run);
  if (spec.has_value()) spec->job.steps = static_cast<int64_t>(EnoughSteps(StepsOfOne(run)));
  return spec;
}

JobPlan PlanJob(const model::Run& run, const Spec& recorded, const std::string& folder) {
  JobPlan job;
  job.command = run.info.job.command;
  job.recorded = recorded;
  job.folder = folder;
  for (const model::Loader& loader : run.loaders) {
    const std::string file = Moved(loader.info.file, run.info.folder, job.folder);
    job.loaders.push_back({loader.name, file, loader.info.line, CallsOf(loader.info, file)});
  }
  const auto steps = static_cast<size_t>(std::max<int64_t>(recorded.job.steps, 0));
  int64_t took_ns = 0;
  const std::vector<trace::Step> recorded_steps = StepsOfOne(run);
  if (steps > 0 && steps <= recorded_steps.size()) {
    took_ns = recorded_steps[steps - 1].received_ns - run.info.start_ns;
  }
  job.longest_ns =
      kToStartNs + kMuchSlower * std::clamp<int64_t>(took_ns, 0, kNsPerSecond * 86'400);
  return job;
}

Status CheckCommand(const JobPlan& job) {
  if (const auto python = model::PythonCommandOf(job.command); python && python->reads_program) {
    return Error{ErrorKind::kInput, "the job's program came from standard input", "",
                 "save it to a file, and record that"};
  }
  for (size_t i = 0; i < job.command.size(); ++i) {
    if (job.command[i].find(kMasked) == std::string::npos) continue;
    const std::string option =
        i > 0 && job.command[i].starts_with(kMasked) ? job.command[i - 1] : "";
    return Error{ErrorKind::kInput,
                 fmt::format("the job's argument {}{} was a secret, which the trace does not hold",
                             i, option.empty() ? "" : " (" + Printable(option) + ")"),
                 "",
                 "run it yourself with other settings (stallscope run --set), or give the secret "
                 "in an environment variable and record again"};
  }
  return {};
}

Status CheckJobIsThere(const JobPlan& job) {
  std::error_code unknown;
  if (!fs::is_directory(job.folder, unknown)) {
    return Error{ErrorKind::kInput, "the folder in which the job was started is not there",
                 job.folder, "give the folder where the job is now (--folder)"};
  }
  if (!IsThere(job.command.front(), job.folder)) {
    return Error{ErrorKind::kInput, "the job's program is not there", job.command.front(),
                 "install it, activate its environment, or give the folder where the job is now "
                 "(--folder)"};
  }
  return {};
}

Result<std::vector<std::string>> RunArguments(const JobPlan& job, const Spec& spec) {
  std::vector<std::string> arguments;
  if (spec.job.steps > 0) arguments.push_back("--steps=" + std::to_string(spec.job.steps));
  std::vector<std::string> placed;
  for (const std::string& path : ChangedPaths(job.recorded, spec)) {
    std::string value;
    if (path.starts_with("env.")) {
      value = spec.env.at(path.substr(4));
    } else {
      STALLSCOPE_ASSIGN_OR_RETURN(value, GetKnob(spec, path));
    }
    if (IsProgramsChoice(path, value)) {
      return CannotSet(path, "the program decides on " + value, "give a value of its own");
    }
    arguments.push_back("--set=" + path + "=" + value);
    const RecordedLoader* const loader = LoaderOf(job, path);
    if (loader == nullptr) continue;
    if (loader->file.empty() || loader->line == 0) {
      return CannotSet(path, "the trace does not say where the loader is constructed",
                       "record the job again");
    }
    for (const RecordedCall& call : loader->calls) {
      if (!path.ends_with("." + call.knob)) continue;
      arguments.push_back(fmt::format("--at={}={}:{}", path, call.file, call.line));
    }
    if (std::find(placed.begin(), placed.end(), loader->name) != placed.end()) continue;
    placed.push_back(loader->name);
    arguments.push_back(fmt::format("--at={}={}:{}", loader->name, loader->file, loader->line));
  }
  return arguments;
}

Status CheckSettings(const JobPlan& job, const Spec& spec, const model::Run& run) {
  for (const std::string& path : ChangedPaths(job.recorded, spec)) {
    const RecordedLoader* const loader = LoaderOf(job, path);
    if (loader == nullptr) continue;
    const std::string field = path.substr(path.find('.') + 1);
    if (NeedsWorkers(field) && SettingsOf(spec, loader->name).num_workers == 0) continue;
    bool constructed = false;
    bool set = false;
    for (const model::Loader& now : run.loaders) {
      if (now.info.file != loader->file || now.info.line != loader->line) continue;
      constructed = true;
      Spec alone;
      alone.stages.push_back({loader->name, model::LoaderSpecOf(now.info)});
      const auto value = GetKnob(alone, path);
      const auto wanted = GetKnob(spec, path);
      set = set || (value.ok() && wanted.ok() && value.value() == wanted.value());
    }
    if (set) continue;
    const std::string place = fmt::format("{}:{}", loader->file, loader->line);
    if (!constructed) {
      return Error{ErrorKind::kRun, path + " was not set: no loader is constructed there any more",
                   place, "record the job again"};
    }
    const auto why = std::find_if(
        run.info.warnings.begin(), run.info.warnings.end(),
        [&](const std::string& said) { return said.find(field) != std::string::npos; });
    return Error{ErrorKind::kRun,
                 path + " was not set" + (why == run.info.warnings.end() ? "" : ": " + *why), place,
                 "change it in the job itself"};
  }
  return {};
}

}  // namespace stallscope::replay
