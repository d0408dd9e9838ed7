// A small file that the program keeps for its user, and that other windows keep theirs in too: the
// notes beside a trace, the settings. Whoever writes reads it first, and does to what is there what
// it has done itself since it last looked, so that no window undoes another one's work. The file is
// replaced whole; where that fails the old one stays, and it is tried again.
//
// One thread offers, a worker or the same thread keeps: all may be called from any thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "analyzer/base/clock.h"
#include "analyzer/base/file.h"
#include "analyzer/base/result.h"
#include "analyzer/base/units.h"

namespace stallscope::session {

// Held while a file of the folder is read and written: keeps two windows from writing what neither
// has read. Best effort: after a moment, and where the file system knows no such lock, it goes on
// without.
class FolderTurn {
 public:
  explicit FolderTurn(const std::string& file);
  ~FolderTurn();
  FolderTurn(const FolderTurn&) = delete;
  FolderTurn& operator=(const FolderTurn&) = delete;

 private:
  int fd_ = -1;
};

// `Form` says how a T is kept: Read(path), nothing where there is no file; Write(T, path, ops);
// Merge(before, mine, theirs), which does to `theirs` what made `mine` of `before`; Differ(a, b):
// there is something to keep.
template <class T, class Form>
class KeptFile {
 public:
  struct Outcome {
    T now;                // what the file says
    bool merged = false;  // and others had changed it
  };

  KeptFile(std::string path, T before, FileOps& ops = FileOps::Kernel())
      : path_(std::move(path)), ops_(ops), before_(before), mine_(std::move(before)) {}

  // True where it must be kept now, which the caller then does or has done by Keep(). False also
  // while that is under way, and for some time after it has failed, except where `at_once`.
  bool Offer(T mine, bool at_once) {
    const std::lock_guard lock(offered_mutex_);
    mine_ = std::move(mine);
    if (!Form::Differ(mine_, before_)) return false;
    if (!at_once && (keeping_ || MonotonicNs() < not_before_ns_)) return false;
    keeping_ = true;
    return true;
  }

  // Writes what was last offered. One at a time, and the last one to come writes the last offer.
  Result<Outcome> Keep() {
    const std::lock_guard turn(keep_mutex_);
    const FolderTurn folder(path_);
    T before;
    T mine;
    {
      const std::lock_guard lock(offered_mutex_);
      before = before_;
      mine = mine_;
    }
    auto outcome = Exchange(before, mine);
    const std::lock_guard lock(offered_mutex_);
    keeping_ = false;
    if (!outcome.ok()) {
      not_before_ns_ = MonotonicNs() + kPatienceNs;
    } else {
      complained_ = false;
      before_ = outcome.value().now;
      // What was offered meanwhile is a change of what the file says now.
      mine_ = Form::Merge(mine, mine_, before_);
    }
    return outcome;
  }

  // The write that Offer() asked for did not come about: it is asked for again later.
  void GaveUp() {
    const std::lock_guard lock(offered_mutex_);
    keeping_ = false;
    not_before_ns_ = MonotonicNs() + kPatienceNs;
  }

  // Whether a failure is news: the first since it was last kept.
  bool MustComplain() {
    const std::lock_guard lock(offered_mutex_);
    return !std::exchange(complained_, true);
  }

 private:
  static constexpr int64_t kPatienceNs = 5 * kNsPerSecond;

  Result<Outcome> Exchange(const T& before, const T& mine) const {
    STALLSCOPE_ASSIGN_OR_RETURN(const std::optional<T> there, Form::Read(path_));
    // If the file is gone, its contents are not: it is written again.
    const T& theirs = there.has_value() ? *there : before;
    Outcome outcome{Form::Merge(before, mine, theirs), Form::Differ(before, theirs)};
    if (!there.has_value() || Form::Differ(outcome.now, theirs)) {
      STALLSCOPE_RETURN_IF_ERROR(Form::Write(outcome.now, path_, ops_));
    }
    return outcome;
  }

  const std::string path_;
  FileOps& ops_;
  std::mutex keep_mutex_;
  std::mutex offered_mutex_;
  T before_;  // what the file said last
  T mine_;    // what it is to say
  bool keeping_ = false;
  bool complained_ = false;
  int64_t not_before_ns_ = 0;  // of the monotonic clock
};

}  // namespace stallscope::session
