// A folder of this process's own, for files that go with it. One thread.
#ifndef STALLSCOPE_GUI_SESSION_SCRATCH_H_
#define STALLSCOPE_GUI_SESSION_SCRATCH_H_

#include <string>

#include "analyzer/base/result.h"

namespace stallscope::session {

class Scratch {
 public:
  // In TMPDIR, else in /tmp.
  static Result<Scratch> Make();
  Scratch(Scratch&& other) noexcept;
  Scratch& operator=(Scratch&&) = delete;
  ~Scratch();  // removes it with what is in it

  const std::string& path() const { return path_; }

 private:
  explicit Scratch(std::string path) : path_(std::move(path)) {}
  std::string path_;  // empty once moved away
};

}  // namespace stallscope::session

#endif  // STALLSCOPE_GUI_SESSION_SCRATCH_H_
