// One measurement at a time on a host: runs that share cores measure each other.
#ifndef STALLSCOPE_REPLAY_SWEEP_HOST_TURN_H_
#define STALLSCOPE_REPLAY_SWEEP_HOST_TURN_H_

#include <functional>
#include <optional>

#include "analyzer/base/result.h"

namespace stallscope::replay {

// While it lives, no other process on this host has one. One thread.
class HostTurn {
 public:
  // Waits for it, and asks 20 times a second whether to give up, which gives nothing. The question
  // may be empty.
  static Result<std::optional<HostTurn>> Await(const std::function<bool()>& stop_requested);
  HostTurn(HostTurn&& other) noexcept;
  HostTurn& operator=(HostTurn&&) = delete;
  ~HostTurn();

 private:
  explicit HostTurn(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace stallscope::replay

#endif  // STALLSCOPE_REPLAY_SWEEP_HOST_TURN_H_
