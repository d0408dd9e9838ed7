// One measurement per user and host at a time: runs that share cores measure each other.
#pragma once

#include <functional>
#include <optional>

#include "analyzer/base/result.h"

namespace stallscope::replay {

// While it lives, no other process of this user on this host has one. The lock is a file in
// XDG_RUNTIME_DIR, else in the user's state folder, which only that user can open. A lock for all
// users in /tmp was rejected: anyone could hold it forever. One thread.
class HostTurn {
 public:
  // Waits for it, asking 20 times a second whether to give up; then the result is empty. Calls
  // `must_wait` once before a wait. Both may be empty.
  static Result<std::optional<HostTurn>> Await(const std::function<bool()>& stop_requested,
                                               const std::function<void()>& must_wait = {});
  HostTurn(HostTurn&& other) noexcept;
  HostTurn& operator=(HostTurn&&) = delete;
  ~HostTurn();

 private:
  explicit HostTurn(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace stallscope::replay
