// Captured graphs where a format does not number them: a profiler gives all kernels of one launch
// the launch's correlation id, and only a graph launches several. Any thread.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_FOREIGN_GRAPH_LAUNCHES_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_FOREIGN_GRAPH_LAUNCHES_H_

#include <vector>

#include "analyzer/trace/events.h"

namespace stallscope::importers {

// Kernels of one stream that share a correlation id get it as their graph's number. Nothing where
// any kernel has a number already: that file tells.
void MarkGraphLaunches(std::vector<trace::Kernel>& kernels);

}  // namespace stallscope::importers

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_FOREIGN_GRAPH_LAUNCHES_H_
