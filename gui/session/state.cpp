#include "gui/session/state.h"

namespace stallscope::session {

const OpenRun* State::Run(RunNumber number) const {
  for (const auto& run : runs) {
    if (run->number == number) return run.get();
  }
  return nullptr;
}

}  // namespace stallscope::session
