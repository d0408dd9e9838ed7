// Files that keep their promises: a write is whole or reported, a report is old or new.
//
// Every write goes through FileOps, so that a test can make the N-th one fail, come back short or
// be interrupted. Objects here belong to one thread at a time.
#ifndef STALLSCOPE_ANALYZER_BASE_FILE_H_
#define STALLSCOPE_ANALYZER_BASE_FILE_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "analyzer/base/result.h"

namespace stallscope {

// The seam: what is called instead of the kernel. The defaults call the kernel; each behaves as the
// system call of its name, errno included.
class FileOps {
 public:
  virtual ~FileOps() = default;
  virtual ssize_t Pwrite(int fd, const void* data, size_t size, off_t offset);
  virtual int Fsync(int fd);
  virtual int Rename(const char* from, const char* to);
  static FileOps& Kernel();
};

// A file that grows at its end. An Append that fails leaves the earlier content as it was: what it
// had put behind it is cut off again.
class AppendFile {
 public:
  // Creates or empties the file; kRun while another object has it. `ops` must outlive the object.
  static Result<AppendFile> Create(const std::string& path, FileOps& ops = FileOps::Kernel());
  AppendFile(AppendFile&& other) noexcept;
  AppendFile& operator=(AppendFile&& other) noexcept;
  ~AppendFile();  // closes

  // Takes short writes and EINTR in its stride. The error says ENOSPC, EIO, ... in words.
  Status Append(std::string_view data);
  Status Sync();
  uint64_t size() const { return size_; }
  const std::string& path() const { return path_; }

 private:
  AppendFile(int fd, std::string path, FileOps& ops)
      : fd_(fd), path_(std::move(path)), ops_(&ops) {}
  void TakeBack();
  void Close();

  int fd_ = -1;
  uint64_t size_ = 0;
  bool torn_ = false;  // bytes of a failed Append still lie behind size_
  std::string path_;
  FileOps* ops_;
};

// A file that others see whole or not at all: written beside `path`, synced and renamed by
// Commit(). Without a Commit() the old content stays.
class AtomicFile {
 public:
  // A link is followed: what it points to is replaced, not the link.
  static Result<AtomicFile> Create(const std::string& path, FileOps& ops = FileOps::Kernel());
  AtomicFile(AtomicFile&&) noexcept = default;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  Status Append(std::string_view data) { return file_->Append(data); }
  Status Commit();

 private:
  AtomicFile(std::string path, AppendFile file, FileOps& ops)
      : path_(std::move(path)), file_(std::make_unique<AppendFile>(std::move(file))), ops_(&ops) {}

  std::string path_;
  std::unique_ptr<AppendFile> file_;  // null once it is in its place, or moved away
  FileOps* ops_;
};

// Reads by offset, never through a map: a file that shrinks while it is read is a short read, not a
// signal.
class InputFile {
 public:
  static Result<InputFile> Open(const std::string& path);
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) noexcept;
  ~InputFile();

  // Reads up to `size` bytes; fewer only at the end of the file.
  Result<size_t> ReadAt(uint64_t offset, void* into, size_t size) const;
  // The size now: a trace that is still written grows.
  Result<uint64_t> Size() const;
  const std::string& path() const { return path_; }

 private:
  InputFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  int fd_ = -1;
  std::string path_;
};

// The whole file; more than `limit` bytes is an error.
Result<std::string> ReadWholeFile(const std::string& path, uint64_t limit);

// An AtomicFile of one piece.
Status WriteFileAtomically(const std::string& path, std::string_view content,
                           FileOps& ops = FileOps::Kernel());

}  // namespace stallscope

#endif  // STALLSCOPE_ANALYZER_BASE_FILE_H_
