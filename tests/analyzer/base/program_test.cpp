#include "analyzer/base/program.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/paths.h"

using stallscope::FindProgram;
using stallscope::test::ScratchDir;

TEST_SUITE("fast") {
  TEST_CASE("a program is found in the first folder that can run it") {
    const ScratchDir dir;
    const std::string first = dir / "first";
    const std::string second = dir / "second";
    for (const std::string& folder : {first, second}) {
      std::filesystem::create_directory(folder);
      std::ofstream(folder + "/tool") << "#!/bin/sh\n";
    }
    const std::string path = ":" + first + "::" + second;
    CHECK(FindProgram("tool", path).empty());
    chmod((second + "/tool").c_str(), 0755);
    CHECK(FindProgram("tool", path) == second + "/tool");
    chmod((first + "/tool").c_str(), 0755);
    CHECK(FindProgram("tool", path) == first + "/tool");
    CHECK(FindProgram("other", path).empty());
    CHECK(FindProgram("tool", "").empty());
  }
}
