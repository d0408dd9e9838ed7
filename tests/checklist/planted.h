// Mistakes of the checklist, planted in specs that this program can run: the finding that a
// recording of each must get, and the smallest change of the spec with which it must not. They are
// in planted.json.
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
  Spec sound;          // the near miss, with the right settings
  bool speeds = true;  // its change is about speed, so it may have a gain
};

// What a recommendation asks for before its patch can run: converted data. Its snapshots are kept
// in `folder`.
void Prepare(const Spec& before, Spec& changed, const std::string& folder);

// Those that read images read them from `folder`, in which they are generated.
std::vector<Planted> AllPlanted(const std::string& folder);

}  // namespace stallscope::test
