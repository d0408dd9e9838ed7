#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>

#include "analyzer/base/thread.h"
#include "analyzer/cli/program.h"

namespace {

// Started without stdin, stdout or stderr, the program would open its own files under their numbers
// and print into them. With these in their place such a write fails instead.
void TakeClosedStreams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) open("/dev/null", O_RDONLY);
  }
}

// Whether the reader of a pipe on stdout went away.
bool ReaderLeft() {
  struct pollfd out {};
  out.fd = STDOUT_FILENO;
  return errno == EPIPE || (poll(&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLHUP)) != 0);
}

// Output that could not be written fails any command. A reader that went away early (head, a pager)
// is no failure.
int WithStdoutWritten(int exit_code) {
  errno = 0;
  const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (written || exit_code != 0 || ReaderLeft()) return exit_code;
  return stallscope::cli::Fail({stallscope::ErrorKind::kRun,
                                std::string("cannot write: ") +
                                    (errno != 0 ? std::strerror(errno) : "an earlier write failed"),
                                "stdout", ""});
}

}  // namespace

int main(int argc, char** argv) {
  TakeClosedStreams();
  // A reader that goes away early (head, a pager) fails the write instead of killing the program.
  std::signal(SIGPIPE, SIG_IGN);
  // So is a file that grows past its limit.
  std::signal(SIGXFSZ, SIG_IGN);
  int exit_code = 0;
  try {
    if (argc < 2) {
      std::fputs(stallscope::cli::FirstSteps().c_str(), stdout);
      return WithStdoutWritten(0);
    }
    const auto app = stallscope::cli::MakeProgram(exit_code);
    try {
      app->parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
      std::fputs(stallscope::usage::HelpText(*app).c_str(), stdout);
    } catch (const CLI::CallForVersion&) {
      std::printf("%s\n", app->version().c_str());
    } catch (const CLI::ParseError& error) {
      return stallscope::cli::Fail(stallscope::usage::UsageError(*app, error, {argv, argv + argc}));
    }
  } catch (...) {
    return stallscope::cli::Fail(stallscope::CaughtError());
  }
  return WithStdoutWritten(exit_code);
}
