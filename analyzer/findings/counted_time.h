// What a counter of an imported run added up: how often something happened, and how long it took.
// Private to the room; any thread.
#ifndef STALLSCOPE_ANALYZER_FINDINGS_COUNTED_TIME_H_
#define STALLSCOPE_ANALYZER_FINDINGS_COUNTED_TIME_H_

#include <cstdint>
#include <string_view>

#include "analyzer/findings/findings.h"

namespace stallscope::findings {

struct CountedTime {
  uint64_t count = 0;
  double share = 0;  // of the window
};

// In the window, of the counters `name` and "`name` time". Nothing of it where there are none.
CountedTime CountedIn(const Case& c, std::string_view name);

}  // namespace stallscope::findings

#endif  // STALLSCOPE_ANALYZER_FINDINGS_COUNTED_TIME_H_
