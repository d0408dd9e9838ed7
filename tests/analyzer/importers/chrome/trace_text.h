// A trace file, also one made by hand, and the run that comes of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/importers/chrome/chrome.h"
#include "tests/support/memory_file.h"

namespace stallscope::test {

inline Result<model::Run> ReadTraceFile(const std::string& path) {
  auto source = importers::ByteSource::Open(path);
  if (!source.ok()) return std::move(source).error();
  return importers::chrome::ReadTraceEvents(*source.value());
}

inline Result<model::Run> ReadText(std::string_view text) {
  const MemoryFile file(text);
  return ReadTraceFile(file.path());
}

// A span of this name, or one that lies nowhere.
struct Seen {
  int64_t start_ns = -1;
  int64_t end_ns = -1;
  std::string track;
};
inline std::vector<Seen> SpansNamed(const model::Run& run, std::string_view name) {
  std::vector<Seen> seen;
  for (const model::Track& track : run.tracks) {
    for (size_t i = 0; i < track.spans.size(); ++i) {
      if (run.Text(run.ClassOf(track, i).name) != name) continue;
      seen.push_back({track.spans.start_ns[i], track.spans.EndNs(i), track.info.name});
    }
  }
  return seen;
}

inline bool Warned(const model::Run& run, std::string_view words) {
  for (const std::string& warning : run.quality.warnings) {
    if (warning.find(words) != std::string::npos) return true;
  }
  return false;
}

}  // namespace stallscope::test
