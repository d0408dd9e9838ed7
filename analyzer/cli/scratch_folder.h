// A folder for files that go with the command. One thread.
#ifndef STALLSCOPE_ANALYZER_CLI_SCRATCH_FOLDER_H_
#define STALLSCOPE_ANALYZER_CLI_SCRATCH_FOLDER_H_

#include <string>

#include "analyzer/base/result.h"

namespace stallscope::cli {

class ScratchFolder {
 public:
  // In TMPDIR, else in /tmp.
  static Result<ScratchFolder> Make();
  ScratchFolder(ScratchFolder&& other) noexcept;
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder();  // removes it with what is in it

  const std::string& path() const { return path_; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;  // empty once moved away
};

}  // namespace stallscope::cli

#endif  // STALLSCOPE_ANALYZER_CLI_SCRATCH_FOLDER_H_
