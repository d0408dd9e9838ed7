// Nsight Systems, as written by `nsys export --type sqlite`, schema 2.9 to 3.25.
// analyzer/importers/README.md documents how tables map to a run. Any thread.
//
// Tables and columns vary with the version and with what was recorded: each is requested by name,
// and a missing one is normal.
#pragma once

#include <string_view>

#include "analyzer/base/result.h"
#include "analyzer/importers/foreign/byte_source.h"
#include "analyzer/model/run.h"

namespace stallscope::importers::nsys {

// Any SQLite database: only its tables reveal whose it is.
bool LooksLikeDatabase(std::string_view head);

// An error if the database cannot be read or has none of Nsight's tables.
Result<model::Run> ReadNsys(ByteSource& source);

}  // namespace stallscope::importers::nsys
