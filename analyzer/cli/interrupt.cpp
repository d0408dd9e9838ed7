#include "analyzer/cli/interrupt.h"

#include <atomic>
#include <csignal>

namespace stallscope::cli {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void Note(int signal) {
  interrupted.store(true);
  std::signal(signal, SIG_DFL);
}

}  // namespace

InterruptGuard::InterruptGuard()
    : old_interrupt_(std::signal(SIGINT, &Note)), old_terminate_(std::signal(SIGTERM, &Note)) {}

InterruptGuard::~InterruptGuard() {
  std::signal(SIGINT, old_interrupt_);
  std::signal(SIGTERM, old_terminate_);
}

bool Interrupted() { return interrupted.load(); }

}  // namespace stallscope::cli
