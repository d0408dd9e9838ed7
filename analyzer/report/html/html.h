// A document as one HTML page: no scripts, no network, no external fonts; light and dark,
// printable. Any thread.
#pragma once

#include <string>

#include "analyzer/report/document.h"

namespace stallscope::report {

std::string WriteHtml(const Document& document);

}  // namespace stallscope::report
