// The data that a spec's run would read, without running it: is it there, is it the same as then?
// Any thread.
#ifndef STALLSCOPE_COLLECTORS_CAPTURE_DATA_FILES_H_
#define STALLSCOPE_COLLECTORS_CAPTURE_DATA_FILES_H_

#include <string>
#include <vector>

#include "analyzer/base/result.h"
#include "analyzer/spec/spec.h"

namespace stallscope::capture {

struct DataFiles {
  std::vector<std::string> paths;
  std::string fingerprint;  // as a trace of the run would have it; empty for data that is made up
};

// A pattern that names nothing is the error that the run itself would end with.
Result<DataFiles> FindDataFiles(const Spec& spec);

}  // namespace stallscope::capture

#endif  // STALLSCOPE_COLLECTORS_CAPTURE_DATA_FILES_H_
