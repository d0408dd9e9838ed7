#include "analyzer/spec/job_knobs.h"

#include <algorithm>

#include "analyzer/spec/spec.h"

namespace stallscope {

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
