// The entry of every test program: doctest, plus an exit code of 77 when the one case that ran
// asked to be skipped (ctest then reports it as skipped).
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <sys/stat.h>

#include <cstdlib>
#include <string>

#include "tests/support/paths.h"
#include "tests/support/skip.h"

int main(int argc, char** argv) {
  // What is recorded here is nothing of the user who runs the tests, and what one of them learns of
  // its predictions must not change another one's. They measure in turn all the same.
  const stallscope::test::ScratchDir state;
  setenv("XDG_STATE_HOME", state.path().c_str(), 1);
  const std::string turns = stallscope::test::BuildDir() + "/tests/state";
  mkdir(turns.c_str(), S_IRWXU);
  setenv("XDG_RUNTIME_DIR", turns.c_str(), 1);
  doctest::Context context(argc, argv);
  const int result = context.run();
  if (context.shouldExit()) return result;
  if (result == 0 && stallscope::test::Skipped()) return 77;
  return result;
}
