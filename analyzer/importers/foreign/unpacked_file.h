// A packed file's content as a file without a name, for readers that need to go to and fro in it.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_FOREIGN_UNPACKED_FILE_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_FOREIGN_UNPACKED_FILE_H_

#include <cstdint>
#include <string>

#include "analyzer/base/result.h"
#include "analyzer/importers/foreign/byte_source.h"

namespace stallscope::importers {

// Lies in memory, and is gone with the object. One thread at a time.
class UnpackedFile {
 public:
  // Everything that is left in `source`; more than `limit` bytes is an error.
  static Result<UnpackedFile> Make(ByteSource& source, uint64_t limit = uint64_t{4} << 30);
  UnpackedFile(UnpackedFile&& other) noexcept;
  UnpackedFile& operator=(UnpackedFile&&) = delete;
  ~UnpackedFile();

  // By which this process can open it.
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  explicit UnpackedFile(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace stallscope::importers

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_FOREIGN_UNPACKED_FILE_H_
