// Which counters only grow, so that their slope tells something and their value does not. Any
// thread.
#pragma once

#include "analyzer/trace/events.h"

namespace stallscope::timeline {

// Told by name and unit: a trace does not say it, and a level may rise for a whole run, too. Of a
// counter that the recorder does not sample the values are taken as they are.
bool IsCumulative(const trace::CounterInfo& counter);

}  // namespace stallscope::timeline
