#include "analyzer/cli/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace stallscope::cli {
namespace {

bool IsStdout(const struct stat& about) {
  struct stat out {};
  return fstat(STDOUT_FILENO, &out) == 0 && out.st_dev == about.st_dev &&
         out.st_ino == about.st_ino;
}

}  // namespace

Result<Output> Output::Open(const std::string& path) {
  Output output;
  output.path_ = path.empty() ? "stdout" : path;
  struct stat about {};
  const bool exists = !path.empty() && stat(path.c_str(), &about) == 0;
  if (path.empty() || (exists && IsStdout(about))) {
    output.stream_.reset(stdout);
  } else if (exists && (S_ISFIFO(about.st_mode) || S_ISCHR(about.st_mode))) {
    const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    output.stream_.reset(fd < 0 ? nullptr : fdopen(fd, "w"));
    if (output.stream_ == nullptr) return output.WriteError();
  } else {
    STALLSCOPE_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(path));
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
