// What to say of a file that no importer knows. Any thread.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_UNKNOWN_FILE_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_UNKNOWN_FILE_H_

#include <string>
#include <string_view>

#include "analyzer/base/result.h"

namespace stallscope::importers {

// That it is no trace that we know, what it looks like by its first bytes, and what to do.
Error UnknownFile(const std::string& path, std::string_view head, bool packed);

// JSON of another tool, which its keys name: no trace events, however long its head is.
bool IsOtherJson(std::string_view head);

// "a PNG picture", "an ELF program or library", ...
std::string WhatItLooksLike(std::string_view head);

}  // namespace stallscope::importers

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_UNKNOWN_FILE_H_
