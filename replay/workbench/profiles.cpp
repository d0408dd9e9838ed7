#include "replay/workbench/profiles.h"

#include <utility>

#include "analyzer/importers/open_run.h"
#include "analyzer/model/loader.h"
#include "analyzer/model/saver.h"

namespace stallscope::workbench {

Status JoinProfiles(const std::string& trace, const std::vector<FrameworkProfile>& profiles) {
  STALLSCOPE_ASSIGN_OR_RETURN(model::Run run, model::LoadToSave(trace));
  const auto warn = [&](const std::string& text) {
    run.quality.warnings.push_back(run.path + ": " + text);
  };
  for (const FrameworkProfile& file : profiles) {
    auto profile = importers::OpenRun(file.path);
    if (!profile.ok()) {
      warn("the framework profiler's file could not be read: " + profile.error().what);
      continue;
    }
    const std::string prefix = profile.value().path + ": ";
    const std::vector<std::string> warnings = profile.value().quality.warnings;
    const Status joined = model::JoinProfile(std::move(profile).value(), file.window, run);
    if (!joined.ok()) {
      warn("the framework profiler's file was left out: " + joined.error().what);
      continue;
    }
    for (const std::string& warning : warnings) {
      warn("framework profiler: " +
           (warning.starts_with(prefix) ? warning.substr(prefix.size()) : warning));
    }
  }
  return model::SaveTrace(run, trace, FileOps::Kernel(), Over::kOwnInput);
}

}  // namespace stallscope::workbench
