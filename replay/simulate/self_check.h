// Whether a simulation of the recorded configuration looks like the recording: not only as fast,
// but for the same reasons. A model that is right for wrong reasons errs once something is changed.
//
// For any model that reproduces a run: it lists what it has and what was recorded. Any thread.
#pragma once

#include <string>
#include <vector>

namespace stallscope::replay {

// One share, 0 to 1, of both.
struct Likeness {
  std::string
      what;  // as in "in the recorded run ... 50% of the time": "the trainer waits for its input"
  double recorded = 0;
  double simulated = 0;
  double allowed = 0;  // difference that means nothing
};

struct SelfCheck {
  double doubt = 0;                      // half of a 90% interval, as a part of the throughput
  std::vector<std::string> unexplained;  // what differs by more than is allowed
};

SelfCheck CheckLikeness(const std::vector<Likeness>& shares);

}  // namespace stallscope::replay
