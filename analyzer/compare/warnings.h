// What makes two sides hard to compare, one line each.
#ifndef STALLSCOPE_ANALYZER_COMPARE_WARNINGS_H_
#define STALLSCOPE_ANALYZER_COMPARE_WARNINGS_H_

#include <string>
#include <vector>

#include "analyzer/compare/compare.h"

namespace stallscope::compare {

// Other hosts, cores and devices; lost data.
std::vector<std::string> WarningsOf(const std::vector<RunSummary>& base,
                                    const std::vector<RunSummary>& now);

// False where both sides have digests and these are not all one; adds a line then.
bool SameData(const std::vector<RunSummary>& base, const std::vector<RunSummary>& now,
              std::vector<std::string>& warnings);

// The patch from base's spec to the new one's; nothing where a side has none, and nothing with a
// line where the runs of a side differ or a spec cannot be read.
std::optional<Patch> SpecChange(const std::vector<RunSummary>& base,
                                const std::vector<RunSummary>& now,
                                std::vector<std::string>& warnings);

}  // namespace stallscope::compare

#endif  // STALLSCOPE_ANALYZER_COMPARE_WARNINGS_H_
