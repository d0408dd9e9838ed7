#include "analyzer/cli/interrupt.h"

#include <array>
#include <atomic>
#include <csignal>

namespace stallscope::cli {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void Note(int signal) {
  interrupted.store(true);
  std::signal(signal, SIG_DFL);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  for (size_t i = 0; i < kSignals.size(); ++i) {
    struct sigaction now {};
    const bool ignored = sigaction(kSignals[i], nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
    old_[i] = kSignals[i] == SIGHUP && ignored ? SIG_IGN : std::signal(kSignals[i], &Note);
  }
}

InterruptGuard::~InterruptGuard() {
  for (size_t i = 0; i < kSignals.size(); ++i) std::signal(kSignals[i], old_[i]);
}

Cancel Interruption() { return Cancel(interrupted); }

}  // namespace stallscope::cli
