// What a file looks like by its first bytes, to report that it is not a trace. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "analyzer/base/result.h"

namespace stallscope::model {

enum class Content { kEmpty, kTrace, kGzip, kZip, kJson, kSqlite, kProtobuf, kText, kUnknown };

// The first few kilobytes are enough; the name of the file plays no part.
Content LooksLike(std::string_view first_bytes);

// "gzip", "JSON", ...
const char* NameOf(Content content);

// That the file is not a trace of ours, what it looks like, and what to do about it.
Error NotATrace(const std::string& path, Content content);

}  // namespace stallscope::model
