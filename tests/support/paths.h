// Where tests find things and put things.
#pragma once

#include <optional>
#include <string>

namespace stallscope::test {

// The checkout.
std::string SourceDir();
// The build folder; its programs lie in BuildDir() + "/bin".
std::string BuildDir();
// The folder of real traces that STALLSCOPE_CORPUS names; nothing where it is not set. A case that
// needs it calls Skip() then.
std::optional<std::string> CorpusDir();

// A fresh folder that goes away with the object.
class ScratchDir {
 public:
  ScratchDir();
  ~ScratchDir();
  ScratchDir(const ScratchDir&) = delete;
  ScratchDir& operator=(const ScratchDir&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace stallscope::test
