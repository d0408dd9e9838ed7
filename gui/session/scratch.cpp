#include "gui/session/scratch.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace stallscope::session {

Result<Scratch> Scratch::Make() {
  std::error_code failed;
  std::string pattern = std::filesystem::temp_directory_path(failed).string();
  if (failed) pattern = "/tmp";
  pattern += "/stallscope-gui-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) {
    return Error{ErrorKind::kRun,
                 std::string("no folder for scratch files can be made: ") + std::strerror(errno),
                 pattern, "set TMPDIR to a folder that can be written"};
  }
  return Scratch(std::move(pattern));
}

Scratch::Scratch(Scratch&& other) noexcept : path_(std::exchange(other.path_, {})) {}

Scratch::~Scratch() {
  if (path_.empty()) return;
  std::error_code gone_anyway;
  std::filesystem::remove_all(path_, gone_anyway);
}

}  // namespace stallscope::session
