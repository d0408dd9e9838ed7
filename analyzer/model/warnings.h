// What a user should know about a run's losses, in words.
#ifndef STALLSCOPE_ANALYZER_MODEL_WARNINGS_H_
#define STALLSCOPE_ANALYZER_MODEL_WARNINGS_H_

#include <string>
#include <vector>

#include "analyzer/base/result.h"
#include "analyzer/model/run.h"

namespace stallscope::model {

// Fills run.quality.warnings from everything else that the run says.
void AddWarnings(const std::vector<std::string>& limit_warnings, Run& run);

// Why a damaged file is of no use at all.
Error NothingReadable(const std::string& path, const DataQuality& quality);

}  // namespace stallscope::model

#endif  // STALLSCOPE_ANALYZER_MODEL_WARNINGS_H_
