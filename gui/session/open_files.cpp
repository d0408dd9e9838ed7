#include "gui/session/open_files.h"

#include <filesystem>
#include <system_error>

#include "analyzer/base/file.h"
#include "gui/session/side_file.h"

namespace stallscope::session {
namespace {

Error IsOpen(const std::string& path) {
  return {ErrorKind::kUsage, "the window has this file open", path, "choose another file"};
}

}  // namespace

bool IsSameFile(const std::string& a, const std::string& b) {
  std::error_code missing;
  return std::filesystem::equivalent(a, b, missing) && !missing;
}

Status MayRecord(const State& state, const std::string& settings, const std::string& path) {
  for (const std::string& kept : {state.sweep.path, state.record.spec_path, settings}) {
    if (!kept.empty() && IsSameFile(path, kept)) return IsOpen(path);
  }
  for (const auto& run : state.runs) {
    for (const std::string& trace : run->paths) {
      if (IsSameFile(path, SidePath(trace))) return IsOpen(path);
    }
  }
  return {};
}

Status MayWrite(const State& state, const std::string& settings, const std::string& path) {
  for (const auto& run : state.runs) {
    for (const std::string& trace : run->paths) {
      if (IsSameFile(path, trace)) return IsOpen(path);
    }
  }
  return MayRecord(state, settings, path);
}

void ForgetFiles(const std::vector<std::string>& traces, const State& state) {
  for (const std::string& trace : traces) {
    ForgetInput(trace);
    ForgetInput(SidePath(trace));
  }
  // Under another name it may be open twice.
  for (const auto& run : state.runs) {
    for (const std::string& trace : run->paths) {
      NoteInput(trace);
      NoteInput(SidePath(trace));
    }
  }
}

}  // namespace stallscope::session
