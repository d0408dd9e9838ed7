#include "analyzer/cli/scratch_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

namespace stallscope::cli {

Result<ScratchFolder> ScratchFolder::Make() {
  std::error_code ignored;
  std::filesystem::path folder = std::filesystem::temp_directory_path(ignored);
  if (folder.empty()) folder = "/tmp";
  std::string path = folder / "stallscope-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) {
    return Error{ErrorKind::kRun, std::string("no scratch folder: ") + std::strerror(errno), path,
                 "set TMPDIR to a folder that can be written"};
  }
  return ScratchFolder(std::move(path));
}

ScratchFolder::ScratchFolder(ScratchFolder&& other) noexcept
    : path_(std::exchange(other.path_, std::string())) {}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace stallscope::cli
