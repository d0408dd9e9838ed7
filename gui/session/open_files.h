// The files that the window shows. Nothing it writes replaces one of them, even one that it wrote
// itself: to the process that is no input (base/file.h), to the user it is the recording on the
// screen. Any thread.
#pragma once

#include <string>
#include <vector>

#include "analyzer/base/result.h"
#include "gui/session/state.h"

namespace stallscope::session {

// Whether two names are one file, by device and inode. A missing file equals none.
bool IsSameFile(const std::string& a, const std::string& b);

// kUsage where `path` leads to a file that the window shows: a trace, what is kept beside it, the
// sweep, the spec, the settings.
Status MayWrite(const State& state, const std::string& settings, const std::string& path);
// The same for a recording, which may replace an open trace: it is opened in its place.
Status MayRecord(const State& state, const std::string& settings, const std::string& path);

// Releases closed files as inputs of the process, except those that are still open.
void ForgetFiles(const std::vector<std::string>& traces, const State& state);

}  // namespace stallscope::session
