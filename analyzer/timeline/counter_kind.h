// Which counters only grow, so that their slope tells something and their value does not. Any
// thread.
#ifndef STALLSCOPE_ANALYZER_TIMELINE_COUNTER_KIND_H_
#define STALLSCOPE_ANALYZER_TIMELINE_COUNTER_KIND_H_

#include "analyzer/trace/events.h"

namespace stallscope::timeline {

// Told by name and unit: a trace does not say it, and a level may rise for a whole run, too. Of a
// counter that the recorder does not sample the values are taken as they are.
bool IsCumulative(const trace::CounterInfo& counter);

}  // namespace stallscope::timeline

#endif  // STALLSCOPE_ANALYZER_TIMELINE_COUNTER_KIND_H_
