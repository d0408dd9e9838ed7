// The entry of every test program: doctest, plus an exit code of 77 when the one case that ran
// asked to be skipped (ctest then reports it as skipped).
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdlib>

#include "tests/support/paths.h"
#include "tests/support/skip.h"

int main(int argc, char** argv) {
  // What is recorded here is nothing of the user who runs the tests.
  setenv("XDG_STATE_HOME", (stallscope::test::BuildDir() + "/tests/state").c_str(), 1);
  doctest::Context context(argc, argv);
  const int result = context.run();
  if (context.shouldExit()) return result;
  if (result == 0 && stallscope::test::Skipped()) return 77;
  return result;
}
