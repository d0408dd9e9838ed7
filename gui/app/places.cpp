#include "gui/app/places.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "analyzer/base/program.h"

namespace stallscope::app {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> TracesIn(const fs::path& folder) {
  std::vector<std::string> traces;
  std::error_code error;
  for (auto entry = fs::directory_iterator(folder, error);
       !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (entry->path().extension() == ".sst") traces.push_back(entry->path().string());
  }
  std::sort(traces.begin(), traces.end());
  return traces;
}

}  // namespace

std::string CommandLineProgram() {
  const std::string program = ProgramFolder() + "/stallscope";
  return access(program.c_str(), X_OK) == 0 ? program : "";
}

std::vector<std::string> SampleTraces() {
  for (const std::string& place : SampleFolders()) {
    std::error_code error;
    const fs::path whole = fs::canonical(place, error);
    if (error) continue;
    if (std::vector<std::string> traces = TracesIn(whole); !traces.empty()) return traces;
  }
  return {};
}

}  // namespace stallscope::app
