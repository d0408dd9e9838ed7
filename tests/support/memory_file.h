// A file that never touches a disk: it is opened by its path like any other, and can be changed a
// million times in seconds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace stallscope::test {

class MemoryFile {
 public:
  explicit MemoryFile(std::string_view content = {});
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  // Valid in this process, as long as the object lives.
  const std::string& path() const { return path_; }
  void Set(std::string_view content);
  // Over what is there, or behind it.
  void Put(uint64_t offset, std::string_view bytes);
  void Truncate(uint64_t size);

 private:
  int fd_;
  std::string path_;
};

}  // namespace stallscope::test
