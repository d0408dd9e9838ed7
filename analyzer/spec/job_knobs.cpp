#include "analyzer/spec/job_knobs.h"

#include <algorithm>

#include "analyzer/spec/spec.h"

namespace stallscope {

std::string ThreadSettings(std::string_view threads) {
  std::string settings;
  for (const std::string_view variable : kThreadVariables) {
    if (!settings.empty()) settings += ' ';
    settings.append(variable).append("=").append(threads);
  }
  return settings;
}

bool IsOtherLoaderKnob(std::string_view field) {
  return std::find(kOtherLoaderKnobs.begin(), kOtherLoaderKnobs.end(), field) !=
         kOtherLoaderKnobs.end();
}

bool IsProgramsChoice(std::string_view path, std::string_view value) {
  if (path.starts_with("env.")) return false;
  return value == ToWord(StartMethod::kInherited) ||
         (value == "0" && !path.ends_with(".num_workers"));
}

}  // namespace stallscope
