// The files that a run read, by number. Private to the room; any thread.
#ifndef STALLSCOPE_ANALYZER_FINDINGS_SHARDS_H_
#define STALLSCOPE_ANALYZER_FINDINGS_SHARDS_H_

#include <optional>

#include "analyzer/findings/findings.h"

namespace stallscope::findings {

// The file's place among all that were read, by name, from 0 on. Nothing where a file holds a
// single element: then it is no shard.
std::optional<size_t> ShardOf(const Case& c, trace::StringId file);

}  // namespace stallscope::findings

#endif  // STALLSCOPE_ANALYZER_FINDINGS_SHARDS_H_
