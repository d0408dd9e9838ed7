// Where a command's result goes: to stdout, or into a file that is the old or the new, never half.
// One thread.
#ifndef STALLSCOPE_ANALYZER_CLI_OUTPUT_H_
#define STALLSCOPE_ANALYZER_CLI_OUTPUT_H_

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "analyzer/base/file.h"
#include "analyzer/base/result.h"

namespace stallscope::cli {

class Output {
 public:
  // An empty path is stdout, and so is a path that leads there (/dev/stdout). A pipe or a character
  // device is written to as it is.
  static Result<Output> Open(const std::string& path);

  Status Write(std::string_view text);
  // Brings everything to its place. Without it a file keeps its old content.
  Status Finish();
  // Whoever read stdout or a pipe went away: that the rest was not written is no failure.
  bool reader_left() const { return reader_left_; }

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const {
      if (file != stdout) std::fclose(file);
    }
  };
  Output() = default;
  Error WriteError();

  std::string path_;
  std::optional<OutputFile> file_;
  std::unique_ptr<std::FILE, CloseFile> stream_;  // where there is no file_
  bool reader_left_ = false;
};

}  // namespace stallscope::cli

#endif  // STALLSCOPE_ANALYZER_CLI_OUTPUT_H_
