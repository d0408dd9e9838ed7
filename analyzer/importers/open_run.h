// Any trace file as a run: stallscope's own and every foreign format, told by content, not by name,
// gzip opened as it is. The one place where files become runs: commands, replays and the desktop
// program all call it. Any thread.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_OPEN_RUN_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_OPEN_RUN_H_

#include <string>

#include "analyzer/base/result.h"
#include "analyzer/model/loader.h"
#include "analyzer/model/run.h"

namespace stallscope::importers {

// An error only where nothing of the file can be used, and where no format knows it: the error says
// what it looks like. Everything less is in Run::quality.
// Progress is told of what is read in pieces: all but SQLite.
Result<model::Run> OpenRun(const std::string& path, const model::OnProgress& on_progress = {});

// Whether OpenRun would read this file, by its beginning: many traces are JSON, and so is what is
// none. An error where it cannot be read.
Result<bool> IsTrace(const std::string& path);

}  // namespace stallscope::importers

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_OPEN_RUN_H_
