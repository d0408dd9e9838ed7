// Interactions one after the other, and what must be so after each.
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

#include "gui/viewmodel/commands.h"
#include "tests/support/paths.h"

namespace stallscope::test {

struct Interaction {
  std::string what;
  std::function<void()> act;
  std::function<bool()> holds;  // afterwards
};

inline void Play(const std::vector<Interaction>& script) {
  for (const Interaction& one : script) {
    CAPTURE(one.what);
    one.act();
    CHECK_MESSAGE(one.holds(), one.what);
  }
}

inline std::string Sample(const std::string& name) {
  return SourceDir() + "/sample_traces/" + name + ".sst";
}

inline viewmodel::Chord Ctrl(char key) { return {viewmodel::KeyOf(key), true, false, false}; }

}  // namespace stallscope::test
