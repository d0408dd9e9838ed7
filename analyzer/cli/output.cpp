#include "analyzer/cli/output.h"

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace stallscope::cli {

Result<Output> Output::Open(const std::string& path) {
  Output output;
  output.path_ = path.empty() ? "stdout" : path;
  std::error_code ignored;
  if (path.empty()) {
    output.stream_.reset(stdout);
  } else if (std::filesystem::exists(path, ignored) &&
             !std::filesystem::is_regular_file(path, ignored)) {
    output.stream_.reset(std::fopen(path.c_str(), "w"));
    if (output.stream_ == nullptr) return output.WriteError();
  } else {
    STALLSCOPE_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
    output.file_.emplace(std::move(file));
  }
  return output;
}

Error Output::WriteError() {
  reader_left_ = errno == EPIPE;
  return {ErrorKind::kRun, std::string("cannot write: ") + std::strerror(errno), path_,
          errno == ENOSPC ? "free some space or write to another disk" : ""};
}

Status Output::Write(std::string_view text) {
  if (file_) return file_->Append(text);
  if (std::fwrite(text.data(), 1, text.size(), stream_.get()) == text.size()) return {};
  return WriteError();
}

Status Output::Finish() {
  if (file_) return file_->Commit();
  if (std::fflush(stream_.get()) == 0) return {};
  return WriteError();
}

}  // namespace stallscope::cli
