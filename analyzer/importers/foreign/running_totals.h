// Things that happened again and again, as counters that a rule can ask: how many of them there
// were until then, and how long they took together. Any thread.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_FOREIGN_RUNNING_TOTALS_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_FOREIGN_RUNNING_TOTALS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/importers/foreign/run_builder.h"

namespace stallscope::importers {

struct Occurrence {
  int64_t start_ns = 0;
  int64_t ns = 0;
};

// Makes the counters `name` and "`name` time"; none where nothing happened.
void AddTotals(const std::string& name, std::vector<Occurrence> all, RunBuilder& builder);

}  // namespace stallscope::importers

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_FOREIGN_RUNNING_TOTALS_H_
