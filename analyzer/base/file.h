// All file input and output: a write is complete or reported, a file is old or new, and nothing is
// replaced that the user did not mean.
//
// Output: an OutputFile has no name until it is published, so that a process that dies leaves
// nothing behind, and nobody can predict or plant its temporary name. It only replaces a regular
// file, which keeps its mode and owner, and never one that this process has read, whatever its
// name: files are identified by device and inode. Input: only regular files and pipes are read.
// Every write goes through FileOps, so that a test can make the N-th one fail, return short or be
// interrupted. Objects belong to one thread at a time; functions may be called from any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "analyzer/base/result.h"

struct stat;

namespace stallscope {

// The test seam in front of the kernel. The defaults call the kernel; each behaves like the system
// call of its name, errno included.
class FileOps {
 public:
  virtual ~FileOps() = default;
  virtual ssize_t Pwrite(int fd, const void* data, size_t size, off_t offset);
  virtual int Fsync(int fd);
  virtual int Rename(const char* from, const char* to);
  static FileOps& Kernel();
};

// Which files may be replaced.
enum class Over : uint8_t {
  kNoInput,   // any that this process has not read
  kOwnInput,  // also one that it read in order to change it: settings, a resumed sweep
};

// A file that grows at its end, and is visible to others once published. A failed Append leaves the
// earlier content as it was: whatever it had added is cut off again.
class OutputFile {
 public:
  // Checks now what Publish() checks again. A link is followed: its target is replaced. kUsage: an
  // input; kRun: not a regular file, another process is writing it, or the system refuses.
  static Result<OutputFile> Create(const std::string& path, Over over = Over::kNoInput,
                                   FileOps& ops = FileOps::Kernel());
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;
  ~OutputFile();  // closes; unpublished content is gone

  // Handles short writes and EINTR. The error spells out ENOSPC, EIO, ...
  Status Append(std::string_view data);
  Status Sync();
  // Gives it its name, replacing what is there. It may be appended to afterwards, and no other
  // process can replace it until it is closed.
  Status Publish();
  // Sync and Publish: for a file that is complete.
  Status Commit();
  bool published() const { return published_; }
  uint64_t size() const { return size_; }
  const std::string& path() const { return path_; }

 private:
  OutputFile(std::string path, Over over, FileOps& ops)
      : path_(std::move(path)), over_(over), ops_(&ops) {}
  Status Open(const std::string& folder, const struct stat* replaced);
  Status NameIt(const std::string& target);
  void TakeBack();
  void Close();

  int fd_ = -1;
  uint64_t size_ = 0;
  bool torn_ = false;  // bytes of a failed Append are still past size_
  bool published_ = false;
  std::string path_;       // as the caller named it
  std::string temporary_;  // its current name; empty: none
  Over over_;
  FileOps* ops_;
};

// An OutputFile written in one piece.
Status WriteFileAtomically(const std::string& path, std::string_view content,
                           Over over = Over::kNoInput, FileOps& ops = FileOps::Kernel());

// Whether a process, this one included, has published the file and still appends to it.
bool HasWriter(const std::string& path);

// Files that this process reads by other means than InputFile (through a library, a data set) are
// noted explicitly. What it wrote itself is not an input. A long-running program forgets what it is
// done with.
void NoteInput(const std::string& path);
void ForgetInput(const std::string& path);

enum class Use : uint8_t { kInput, kLook };

// Reads by offset, never through mmap: a file that shrinks while being read causes a short read,
// not a signal.
class InputFile {
 public:
  // kInput: missing, or neither a regular file nor a pipe. A pipe is copied to an unnamed file
  // first; a signal that has a handler ends the wait for it (kRun).
  // `use` kLook: not an input yet, only a look at what it is.
  static Result<InputFile> Open(const std::string& path, Use use = Use::kInput);
  // The unnamed file `fd`, which holds what was unpacked from `path`. Closes it in the end.
  static InputFile Copy(int fd, std::string path) { return {fd, std::move(path), true}; }
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) noexcept;
  ~InputFile();

  // Reads up to `size` bytes; fewer only at the end of the file.
  Result<size_t> ReadAt(uint64_t offset, void* into, size_t size) const;
  // The current size: a trace that is still being written grows.
  Result<uint64_t> Size() const;
  const std::string& path() const { return path_; }
  // Whether its content lies in an unnamed copy: opening the path again would not read it.
  bool copied() const { return copied_; }

 private:
  InputFile(int fd, std::string path, bool copied)
      : fd_(fd), path_(std::move(path)), copied_(copied) {}
  int fd_ = -1;
  std::string path_;
  bool copied_ = false;
};

// The whole file; more than `limit` bytes is an error.
Result<std::string> ReadWholeFile(const std::string& path, uint64_t limit);

// `bytes` random bytes as hexadecimal digits, for names that nobody can predict.
std::string RandomName(size_t bytes);

}  // namespace stallscope
