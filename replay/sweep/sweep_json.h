// A sweep as JSON, schema stallscope.sweep/1, a point a line. Equal sweeps give equal bytes. Any
// thread.
#ifndef STALLSCOPE_REPLAY_SWEEP_SWEEP_JSON_H_
#define STALLSCOPE_REPLAY_SWEEP_SWEEP_JSON_H_

#include <string>
#include <string_view>

#include "analyzer/base/result.h"
#include "replay/sweep/sweep.h"

namespace stallscope::replay {

std::string WriteSweep(const Sweep& sweep);

struct SweepText {
  Sweep sweep;
  bool whole = true;  // false: the text was cut off, and its whole points are here
};

// Where a text breaks off, the points before the break are kept. One that is no sweep, or breaks
// off before its first point, is ErrorKind::kInput.
Result<SweepText> ReadSweep(std::string_view text, const std::string& name);

}  // namespace stallscope::replay

#endif  // STALLSCOPE_REPLAY_SWEEP_SWEEP_JSON_H_
