#include "gui/app/end_signals.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace stallscope::app {
namespace {

constexpr std::array<int, 3> kSignals = {SIGTERM, SIGHUP, SIGINT};

// All that a handler may touch.
std::atomic<int> signal_pipe{-1};
static_assert(std::atomic<int>::is_always_lock_free);

void OnSignal(int) {
  const int error = errno;
  const int to = signal_pipe;
  if (to >= 0) static_cast<void>(!write(to, "s", 1));
  errno = error;
}

}  // namespace

EndSignals::EndSignals(std::function<void()> on_signal) : on_signal_(std::move(on_signal)) {
  if (pipe2(pipe_.data(), O_CLOEXEC) != 0) return;
  // What wakes a window takes locks, so it is none of the handler's business.
  const Status started = thread_.Start(
      [this] {
        char said = 0;
        ssize_t got = 0;
        while ((got = read(pipe_[0], &said, 1)) < 0 && errno == EINTR) {
        }
        if (got <= 0 || said != 's') return;
        asked_ = true;
        on_signal_();
      },
      [](const Error&) {});
  if (!started.ok()) return;
  signal_pipe = pipe_[1];
  for (const int signal : kSignals) {
    struct sigaction before {};
    if (sigaction(signal, nullptr, &before) != 0 || before.sa_handler == SIG_IGN) continue;
    struct sigaction action {};
    action.sa_handler = &OnSignal;
    action.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
    sigaction(signal, &action, nullptr);
  }
}

// The handlers stay: a signal that comes while the program ends is too late to matter.
EndSignals::~EndSignals() {
  signal_pipe = -1;
  if (pipe_[1] < 0) return;
  static_cast<void>(!write(pipe_[1], "e", 1));
  thread_.Join();
  close(pipe_[0]);
  close(pipe_[1]);
}

}  // namespace stallscope::app
