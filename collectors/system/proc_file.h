// A small file of the kernel that is read again and again: opened once, then one pread a reading.
//
// The kernel makes the text anew for every read from offset 0, so an open descriptor saves the walk
// along the path (6 us down to 1 us for a thread's schedstat). Belongs to one thread at a time.
#ifndef STALLSCOPE_COLLECTORS_SYSTEM_PROC_FILE_H_
#define STALLSCOPE_COLLECTORS_SYSTEM_PROC_FILE_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stallscope::system {

class ProcFile {
 public:
  // A file that is missing is no error here: Read() gives nothing, and problem() says why. Of a
  // longer text the first `capacity` bytes are read.
  explicit ProcFile(std::string path, size_t capacity = 4096);
  ~ProcFile();
  ProcFile(ProcFile&& other) noexcept;
  ProcFile& operator=(ProcFile&& other) noexcept;

  bool open() const { return fd_ >= 0; }
  // The text as it is now, until the next call.
  std::optional<std::string_view> Read();
  // Why the last Read() gave nothing, or what the caller found wrong with the text; with the path.
  std::string problem() const;
  void Damaged() { damaged_ = true; }
  bool sound() const { return error_ == 0 && !damaged_; }

 private:
  std::string path_;
  int fd_ = -1;
  int error_ = 0;  // errno
  bool damaged_ = false;
  std::vector<char> text_;
};

// "/" + "/proc/stat" and "/tmp/tree" + "/proc/stat": where a path lies below a root.
std::string Below(const std::string& root, std::string_view path);

// The whole text of a small file, for what is read once; nothing where it cannot be read.
std::optional<std::string> ReadOnce(const std::string& path);

}  // namespace stallscope::system

#endif  // STALLSCOPE_COLLECTORS_SYSTEM_PROC_FILE_H_
