// What a writer wrote the last time that somebody looked at it.
//
// After a change that is meant, write the files anew, look at the difference and commit it:
//   STALLSCOPE_WRITE_GOLDEN=1 ctest --preset release -R 'golden'
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

#include "analyzer/base/file.h"
#include "tests/support/paths.h"

namespace stallscope::test {

inline void MatchesGolden(const std::string& name, const std::string& text) {
  const std::string path = SourceDir() + "/tests/golden/report/" + name;
  if (std::getenv("STALLSCOPE_WRITE_GOLDEN") != nullptr) {
    REQUIRE(WriteFileAtomically(path, text).ok());
  }
  const auto golden = ReadWholeFile(path, uint64_t{64} << 20);
  REQUIRE_MESSAGE(golden.ok(), path);
  INFO("STALLSCOPE_WRITE_GOLDEN=1 writes " << path << " anew");
  CHECK(text == golden.value());
}

}  // namespace stallscope::test
