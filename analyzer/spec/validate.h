// Whether a spec means something: ranges, ops that parse, stages in an order that can run. Only
// what needs no data is checked; whether files exist is the pipeline's to find out. Any thread.
#pragma once

#include <string>

#include "analyzer/base/result.h"
#include "analyzer/spec/spec.h"

namespace stallscope {

// The first thing that is wrong, as ErrorKind::kUsage. `name` is what the error calls the spec.
Status Validate(const Spec& spec, const std::string& name = "spec");

}  // namespace stallscope
