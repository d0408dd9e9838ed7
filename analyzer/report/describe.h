// A report or a comparison as a document: the one place that decides what is said, in what words
// and order, for every form. Any thread.
#pragma once

#include "analyzer/report/document.h"
#include "analyzer/report/report.h"

namespace stallscope::report {

Document DocumentOf(const Report& report);
Document DocumentOf(const compare::Comparison& comparison);

// The largest ops of each stage: the window shows them, too.
Table OpTable(const Report& report);

}  // namespace stallscope::report
