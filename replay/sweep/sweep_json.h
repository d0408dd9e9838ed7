// A sweep as JSON, schema stallscope.sweep/1, one point per line. Equal sweeps give equal bytes.
// Any thread.
#pragma once

#include <string>
#include <string_view>

#include "analyzer/base/result.h"
#include "replay/sweep/sweep.h"

namespace stallscope::replay {

std::string WriteSweep(const Sweep& sweep);

struct SweepText {
  Sweep sweep;
  bool whole = true;  // false: the text was cut off; these are its complete points
};

// Keeps the points before the end of a truncated text. One that is not a sweep, or ends before its
// first point, is ErrorKind::kInput.
Result<SweepText> ReadSweep(std::string_view text, const std::string& name);

}  // namespace stallscope::replay
