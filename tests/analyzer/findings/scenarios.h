// For each rule a case that it speaks on, and the smallest difference with which it must not.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "tests/analyzer/findings/case_builder.h"

namespace stallscope::test {

struct Scenario {
  std::string_view id;
  std::string_view what;
  std::function<void(CaseBuilder&)> fires;
  std::string_view unless;
  std::function<void(CaseBuilder&)> near_miss;  // on top of `fires`
};

// A case in which it speaks.
CaseBuilder Fired(const Scenario& scenario);

std::vector<Scenario> ReadScenarios();
std::vector<Scenario> MapScenarios();
std::vector<Scenario> StoreScenarios();
std::vector<Scenario> DeviceScenarios();
std::vector<Scenario> RunScenarios();
std::vector<Scenario> JobScenarios();
std::vector<Scenario> TracedScenarios();
std::vector<Scenario> AllScenarios();

}  // namespace stallscope::test
