// Mistakes of the checklist, planted in specs that this program can run: what a recording of each
// must be told, and the smallest change of the spec with which it must not. planted.json has them.
#pragma once

#include <string>
#include <vector>

#include "analyzer/spec/spec.h"

namespace stallscope::test {

struct Planted {
  std::string name;  // "small batches"
  int row = 0;       // of the checklist
  std::string id;    // of the finding
  Spec spec;
  Spec sound;          // the near miss: it has settings that are right
  bool speeds = true;  // its change is about speed, and so may have a gain
};

// Those that read images read them from below `folder`, where they are made.
std::vector<Planted> AllPlanted(const std::string& folder);

}  // namespace stallscope::test
