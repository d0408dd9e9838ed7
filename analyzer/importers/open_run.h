// Opens any trace file as a run: stallscope's own and every foreign format, recognized by content,
// not by name, gzipped or not. The one place where files become runs: commands, replays and the
// desktop program all call it. Any thread.
#pragma once

#include <string>

#include "analyzer/base/result.h"
#include "analyzer/model/loader.h"
#include "analyzer/model/run.h"

namespace stallscope::importers {

// An error only if nothing in the file is usable, or if no importer recognizes it: then the error
// says what it looks like. Everything less is in Run::quality. Reports progress for everything that
// is read in pieces: all but SQLite.
Result<model::Run> OpenRun(const std::string& path, const model::OnProgress& on_progress = {});

// Whether OpenRun would read this file, by its beginning: many traces are JSON, but not all JSON is
// a trace. An error if it cannot be read.
Result<bool> IsTrace(const std::string& path);

}  // namespace stallscope::importers
