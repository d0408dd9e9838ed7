#include "replay/simulate/self_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "replay/simulate/model_constants.h"

namespace stallscope::replay {

SelfCheck CheckLikeness(const std::vector<Likeness>& shares) {
  SelfCheck check;
  double squares = 0;
  for (const Likeness& share : shares) {
    const double miss = std::fabs(share.simulated - share.recorded) - share.allowed;
    if (!(miss > 0)) continue;
    squares += kUnlike * kUnlike * miss * miss;
    check.unexplained.push_back(
        fmt::format("in the recorded run {} {:.0f}% of the time, in its simulation {:.0f}%",
                    share.what, 100 * share.recorded, 100 * share.simulated));
  }
  check.doubt = std::sqrt(squares);
  return check;
}

}  // namespace stallscope::replay
