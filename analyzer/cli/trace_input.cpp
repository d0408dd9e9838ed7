#include "analyzer/cli/trace_input.h"

#include <cstdio>

#include "analyzer/base/escape.h"
#include "analyzer/importers/open_run.h"

namespace stallscope::cli {

Result<model::Run> OpenTrace(const std::string& path) {
  STALLSCOPE_ASSIGN_OR_RETURN(model::Run run, importers::OpenRun(path));
  for (const std::string& warning : run.quality.warnings) {
    std::fprintf(stderr, "stallscope: warning: %s\n", Printable(warning).c_str());
  }
  return run;
}

}  // namespace stallscope::cli
