// A disk that fails on command: the N-th write fails, comes back short or is interrupted.
#pragma once

#include <cerrno>

#include "analyzer/base/file.h"

namespace stallscope::test {

class FaultyDisk : public FileOps {
 public:
  enum class Fault { kNone, kError, kShort, kInterrupted };

  // Write number `first` (from 0) and the `count` - 1 after it fail in this way; `error` is the
  // errno of kError.
  FaultyDisk(Fault fault, int first, int count = 1, int error = ENOSPC)
      : fault_(fault), first_(first), count_(count), error_(error) {}

  ssize_t Pwrite(int fd, const void* data, size_t size, off_t offset) override {
    const int number = writes_++;
    if (number < first_ || number >= first_ + count_) {
      return FileOps::Pwrite(fd, data, size, offset);
    }
    switch (fault_) {
      case Fault::kError:
        errno = error_;
        return -1;
      case Fault::kShort:
        return FileOps::Pwrite(fd, data, (size + 1) / 2, offset);
      case Fault::kInterrupted:
        errno = EINTR;
        return -1;
      case Fault::kNone:
        break;
    }
    return FileOps::Pwrite(fd, data, size, offset);
  }

  int writes() const { return writes_; }

 private:
  Fault fault_;
  int first_;
  int count_;
  int error_;
  int writes_ = 0;
};

}  // namespace stallscope::test
