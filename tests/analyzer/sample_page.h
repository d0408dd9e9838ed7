// The tables of sample_traces/README.md, which say how each sample is judged.
#pragma once

#include <doctest/doctest.h>

#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "analyzer/base/file.h"
#include "tests/support/paths.h"

namespace stallscope::test {

struct Sample {
  std::string path;
  std::string verdict;  // as the page says it
};

inline std::string SamplePath(const std::string& file) {
  return SourceDir() + "/sample_traces/" + file;
}

// Those whose whole row matches `row`: its first group is the file, its second the verdict.
inline std::vector<Sample> SamplesOnPage(const std::string& row) {
  const auto page = ReadWholeFile(SamplePath("README.md"), 1 << 20);
  REQUIRE(page.ok());
  const std::regex pattern(row);
  std::vector<Sample> samples;
  std::istringstream lines(page.value());
  for (std::string line; std::getline(lines, line);) {
    std::smatch cells;
    if (!std::regex_match(line, cells, pattern)) continue;
    samples.push_back({SamplePath(cells[1].str()), cells[2].str()});
  }
  return samples;
}

}  // namespace stallscope::test
