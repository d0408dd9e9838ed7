#include "analyzer/base/program.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace stallscope {

std::string ProgramFolder() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "" : program.parent_path().string();
}

std::vector<std::string> SampleFolders() {
  const std::filesystem::path folder = ProgramFolder();
  if (folder.empty()) return {};
  // PREFIX/bin beside PREFIX/share, and build/<preset>/bin in a checkout.
  return {(folder / "../share/stallscope/samples").lexically_normal().string(),
          (folder / "../../../sample_traces").lexically_normal().string()};
}

std::string FindProgram(const std::string& name, const std::string& folders) {
  for (size_t from = 0; from < folders.size();) {
    const size_t to = std::min(folders.find(':', from), folders.size());
    const std::string file = folders.substr(from, to - from) + "/" + name;
    std::error_code unknown;
    if (to > from && access(file.c_str(), X_OK) == 0 &&
        std::filesystem::is_regular_file(file, unknown)) {
      return file;
    }
    from = to + 1;
  }
  return "";
}

std::string SearchPath() {
  const char* const path = std::getenv("PATH");
  return path == nullptr ? "" : path;
}

}  // namespace stallscope
