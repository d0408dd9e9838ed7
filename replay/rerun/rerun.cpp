#include "replay/rerun/rerun.h"

#include <unistd.h>

#include <filesystem>
#include <utility>

#include "analyzer/base/file.h"
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
    for (const std::string& path : {spec(), trace(), errors()}) {
      std::filesystem::remove(path, ignored);
    }
  }
  RunFiles(const RunFiles&) = delete;
  RunFiles& operator=(const RunFiles&) = delete;

  std::string spec() const { return stem_ + ".json"; }
  std::string trace() const { return stem_ + ".sst"; }
  std::string errors() const { return stem_ + ".err"; }

 private:
  const std::string stem_;
};

Result<bool> RunHere(const Spec& spec, const RerunOptions& options, const RunFiles& files) {
  capture::CaptureOptions capture;
  capture.output = files.trace();
  capture.digest = options.digest;
  capture.stores = options.scratch;
  capture.tool = "stallscope replay";
  capture.stop_requested = options.stop_requested;
  STALLSCOPE_ASSIGN_OR_RETURN(const auto done, capture::Capture(spec, capture));
  return done.training.ended == trainer::Ended::kStopped;
}

Result<bool> RunApart(const Spec& spec, const RerunOptions& options, const RunFiles& files) {
  STALLSCOPE_RETURN_IF_ERROR(WriteFileAtomically(files.spec(), WriteSpec(spec)));
  return Run({options.program, files.spec(), files.trace(), files.errors(), options.digest,
              options.scratch},
             options.stop_requested);
}

}  // namespace

Result<Rerun> RunSpec(const Spec& spec, const RerunOptions& options) {
  if (options.page_cache != PageCache::kAsItIs) {
    STALLSCOPE_ASSIGN_OR_RETURN(const auto data, capture::FindDataFiles(spec));
    STALLSCOPE_RETURN_IF_ERROR(PreparePageCache(data.paths, options.page_cache));
  }
  const RunFiles files(options.scratch);
  Rerun rerun;
  {
    STALLSCOPE_ASSIGN_OR_RETURN(const CoreLimit limit, CoreLimit::Set(options.cores));
    STALLSCOPE_ASSIGN_OR_RETURN(rerun.stopped, options.program.empty()
                                                   ? RunHere(spec, options, files)
                                                   : RunApart(spec, options, files));
  }
  if (rerun.stopped) return rerun;
  STALLSCOPE_ASSIGN_OR_RETURN(rerun.run, model::LoadTrace(files.trace()));
  rerun.attribution = attribution::Attribute(rerun.run);
  return rerun;
}

}  // namespace stallscope::replay
