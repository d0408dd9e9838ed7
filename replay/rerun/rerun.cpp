#include "replay/rerun/rerun.h"

#include <unistd.h>

#include <filesystem>
#include <iterator>
#include <string_view>
#include <utility>

#include "analyzer/base/clock.h"
#include "analyzer/base/file.h"
#include "analyzer/base/units.h"
#include "analyzer/model/loader.h"
#include "analyzer/spec/spec_json.h"
#include "collectors/capture/capture.h"
#include "collectors/capture/data_files.h"
#include "replay/rerun/core_limit.h"
#include "replay/rerun/record_process.h"

namespace stallscope::replay {
namespace {

// The files of one run, gone with the object.
class RunFiles {
 public:
  explicit RunFiles(const std::string& folder)
      : stem_(folder + "/run-" + std::to_string(getpid())) {}
  ~RunFiles() {
    std::error_code ignored;
    for (const std::string& path : {spec(), trace(), errors(), temporary()}) {
      std::filesystem::remove_all(path, ignored);
    }
  }
  RunFiles(const RunFiles&) = delete;
  RunFiles& operator=(const RunFiles&) = delete;

  std::string spec() const { return stem_ + ".json"; }
  std::string trace() const { return stem_ + ".sst"; }
  std::string errors() const { return stem_ + ".err"; }
  std::string temporary() const { return stem_ + ".tmp"; }

 private:
  const std::string stem_;
};

Result<bool> RunHere(const Spec& spec, const RerunOptions& options, const RunFiles& files) {
  capture::CaptureOptions capture;
  capture.output = files.trace();
  capture.digest = options.digest;
  capture.probe = options.probe;
  capture.stores = options.scratch;
  capture.tool = "stallscope replay";
  capture.stop_requested = options.stop_requested;
  STALLSCOPE_ASSIGN_OR_RETURN(const auto done, capture::Capture(spec, capture));
  return done.training.ended == trainer::Ended::kStopped;
}

Result<bool> RunApart(const Spec& spec, const RerunOptions& options, const RunFiles& files) {
  STALLSCOPE_RETURN_IF_ERROR(WriteFileAtomically(files.spec(), WriteSpec(spec)));
  std::vector<std::string> command = {options.program, "record", files.spec(), "-o",
                                      files.trace(),   "--quiet"};
  if (!options.scratch.empty()) {
    command.emplace_back("--stores");
    command.push_back(options.scratch);
  }
  if (options.digest) command.emplace_back("--digest");
  if (options.probe) command.emplace_back("--probe");
  return Run({std::move(command), files.errors(), "", "", false}, options.stop_requested);
}

Result<bool> RunTheJob(const Spec& spec, const RerunOptions& options, const RunFiles& files) {
  if (!options.job.has_value() || options.program.empty()) {
    return Error{ErrorKind::kRun, "a job can be run again by the program stallscope only", "", ""};
  }
  const JobPlan& job = *options.job;
  STALLSCOPE_ASSIGN_OR_RETURN(auto arguments, RunArguments(job, spec));
  std::error_code failed;
  std::filesystem::create_directory(files.temporary(), failed);
  if (failed) {
    return Error{ErrorKind::kRun, "cannot create a folder: " + failed.message(), files.temporary(),
                 ""};
  }
  std::vector<std::string> command = {options.program, "run", "--quiet",
                                      "--with-parent", "-o",  files.trace()};
  if (options.probe) command.emplace_back("--probe");
  command.insert(command.end(), std::make_move_iterator(arguments.begin()),
                 std::make_move_iterator(arguments.end()));
  command.emplace_back("--");
  command.insert(command.end(), job.command.begin(), job.command.end());
  const int64_t begin_ns = MonotonicNs();
  bool too_long = false;
  const auto stop = [&] {
    if (options.stop_requested && options.stop_requested()) return true;
    too_long = MonotonicNs() - begin_ns > job.longest_ns;
    return too_long;
  };
  STALLSCOPE_ASSIGN_OR_RETURN(
      const bool stopped,
      Run({std::move(command), files.errors(), job.folder, files.temporary(), true}, stop));
  if (too_long) {
    return Error{ErrorKind::kRun,
                 "the job did not make " + std::to_string(spec.job.steps) + " steps within " +
                     std::to_string(job.longest_ns / kNsPerSecond) + " s",
                 "", "it may be waiting for something; run it yourself with these settings"};
  }
  return stopped;
}

Status Copy(const std::string& from, const std::string& to) {
  STALLSCOPE_ASSIGN_OR_RETURN(const InputFile in, InputFile::Open(from, Use::kLook));
  STALLSCOPE_ASSIGN_OR_RETURN(OutputFile out, OutputFile::Create(to));
  std::string part(size_t{1} << 20, '\0');
  for (uint64_t at = 0;;) {
    STALLSCOPE_ASSIGN_OR_RETURN(const size_t got, in.ReadAt(at, part.data(), part.size()));
    if (got == 0) break;
    STALLSCOPE_RETURN_IF_ERROR(out.Append(std::string_view(part.data(), got)));
    at += got;
  }
  return out.Commit();
}

}  // namespace

Result<Rerun> RunSpec(const Spec& spec, const RerunOptions& options) {
  if (options.page_cache != PageCache::kAsItIs) {
    if (IsJob(spec)) {
      return Error{ErrorKind::kUsage, "what files a job reads is not known", "--page-cache",
                   "leave the option out"};
    }
    STALLSCOPE_ASSIGN_OR_RETURN(const auto data, capture::FindDataFiles(spec));
    STALLSCOPE_RETURN_IF_ERROR(PreparePageCache(data.paths, options.page_cache));
  }
  const RunFiles files(options.scratch);
  Rerun rerun;
  {
    STALLSCOPE_ASSIGN_OR_RETURN(const CoreLimit limit, CoreLimit::Set(options.cores));
    STALLSCOPE_ASSIGN_OR_RETURN(rerun.stopped, IsJob(spec) ? RunTheJob(spec, options, files)
                                               : options.program.empty()
                                                   ? RunHere(spec, options, files)
                                                   : RunApart(spec, options, files));
  }
  if (rerun.stopped) return rerun;
  STALLSCOPE_ASSIGN_OR_RETURN(rerun.run, model::LoadTrace(files.trace()));
  if (IsJob(spec)) STALLSCOPE_RETURN_IF_ERROR(CheckSettings(*options.job, spec, rerun.run));
  rerun.attribution = options.first_epoch ? attribution::AttributeFirstEpoch(rerun.run)
                                          : attribution::Attribute(rerun.run);
  if (!options.keep.empty()) STALLSCOPE_RETURN_IF_ERROR(Copy(files.trace(), options.keep));
  return rerun;
}

}  // namespace stallscope::replay
