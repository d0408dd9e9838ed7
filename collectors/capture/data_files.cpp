#include "collectors/capture/data_files.h"

#include <utility>

#include "collectors/pipeline/reader.h"

namespace stallscope::capture {

Result<DataFiles> FindDataFiles(const Spec& spec) {
  DataFiles data;
  for (const StageSpec& stage : spec.stages) {
    const auto* const source = std::get_if<SourceSpec>(&stage.kind);
    if (source == nullptr) continue;
    STALLSCOPE_ASSIGN_OR_RETURN(pipeline::SourceFiles files, pipeline::FindFiles(*source));
    for (const auto& path : files.paths) data.paths.push_back(*path);
    data.fingerprint = std::move(files.fingerprint);
  }
  return data;
}

}  // namespace stallscope::capture
