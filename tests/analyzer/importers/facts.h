// What an independent program found in the real traces: $STALLSCOPE_CORPUS/facts/<file>.json.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/model/run.h"

namespace stallscope::test {

using Facts = nlohmann::json;

struct RealTrace {
  std::string path;
  Facts facts;
};
// Those of a folder that have facts; nothing where STALLSCOPE_CORPUS is not set.
std::optional<std::vector<RealTrace>> RealTraces(const std::string& folder);

// The union of [start, end) pairs.
int64_t UnionNs(std::vector<std::pair<int64_t, int64_t>> intervals);

}  // namespace stallscope::test
