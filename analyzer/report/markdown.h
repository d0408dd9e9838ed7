// A document for a comment on a pull request: short, and safe to paste. Any thread.
#pragma once

#include <string>

#include "analyzer/report/document.h"

namespace stallscope::report {

std::string WriteMarkdown(const Document& document);

}  // namespace stallscope::report
