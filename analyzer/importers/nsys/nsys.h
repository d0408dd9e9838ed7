// Nsight Systems, as `nsys export --type sqlite` writes it, schema 2.9 to 3.25. README.md of
// analyzer/importers says what becomes of its tables. Any thread.
//
// Tables and columns come and go with the version and with what was recorded: each is asked for by
// name, and one that is not there is nothing out of the ordinary.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_NSYS_NSYS_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_NSYS_NSYS_H_

#include <string_view>

#include "analyzer/base/result.h"
#include "analyzer/importers/foreign/byte_source.h"
#include "analyzer/model/run.h"

namespace stallscope::importers::nsys {

// Any SQLite database: only its tables tell whose it is.
bool LooksLikeDatabase(std::string_view head);

// An error where the database cannot be read, or has none of Nsight's tables.
Result<model::Run> ReadNsys(ByteSource& source);

}  // namespace stallscope::importers::nsys

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_NSYS_NSYS_H_
