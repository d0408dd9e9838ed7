#include "collectors/capture/data_files.h"

#include <utility>

#include "collectors/pipeline/reader.h"

namespace stallscope::capture {

Result<DataFiles> FindDataFiles(const Spec& spec) {
  STALLSCOPE_ASSIGN_OR_RETURN(const auto sources, pipeline::FindFiles(spec));
  DataFiles data;
  for (const pipeline::SourceFiles& files : sources) {
    for (const auto& path : files.paths) data.paths.push_back(*path);
  }
  data.fingerprint = pipeline::FingerprintOf(sources);
  return data;
}

}  // namespace stallscope::capture
