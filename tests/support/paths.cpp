#include "tests/support/paths.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace stallscope::test {

std::string SourceDir() { return STALLSCOPE_SOURCE_DIR; }
std::string BuildDir() { return STALLSCOPE_BUILD_DIR; }

std::optional<std::string> CorpusDir() {
  const char* folder = std::getenv("STALLSCOPE_CORPUS");
  if (folder == nullptr || *folder == '\0') return std::nullopt;
  return folder;
}

ScratchDir::ScratchDir() {
  std::string pattern = (std::filesystem::temp_directory_path() / "stallscope.XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) {
    std::perror("mkdtemp");
    std::abort();
  }
  path_ = pattern;
}

ScratchDir::~ScratchDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace stallscope::test
