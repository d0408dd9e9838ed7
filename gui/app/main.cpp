#include <csignal>
#include <cstdio>

#include "analyzer/base/thread.h"
#include "gui/app/loop.h"
#include "gui/app/options.h"
#include "gui/app/picture.h"

namespace {

int Fail(const stallscope::Error& error) {
  std::fflush(stdout);
  std::fprintf(stderr, "stallscope-gui: %s\n", error.Line().c_str());
  return static_cast<int>(error.kind);
}

int Run(int argc, char** argv) {
  const auto options = stallscope::app::ReadOptions(argc, argv);
  if (!options.ok()) return Fail(options.error());
  if (!options.value().text.empty()) {
    std::fputs(options.value().text.c_str(), stdout);
    return 0;
  }
  const stallscope::Status done = options.value().picture
                                      ? stallscope::app::ExportPicture(options.value())
                                      : stallscope::app::RunWindow(options.value());
  return done.ok() ? 0 : Fail(done.error());
}

}  // namespace

int main(int argc, char** argv) {
  // A reader that goes away is a failed write, not a death by signal; so is a file that grows past
  // its limit.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return Run(argc, argv);
  } catch (...) {
    return Fail(stallscope::CaughtError());
  }
}
