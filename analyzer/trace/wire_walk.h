// Scans a payload's protobuf without building its objects, for limits and reservations.
#ifndef STALLSCOPE_ANALYZER_TRACE_WIRE_WALK_H_
#define STALLSCOPE_ANALYZER_TRACE_WIRE_WALK_H_

#include <cstddef>
#include <optional>
#include <string_view>

namespace stallscope::trace {

// How many messages and strings protobuf would create from it at most. Nothing if it is not a
// chunk: it is truncated, or contains a group, which no version of the format writes.
std::optional<size_t> CountMessages(std::string_view payload);

}  // namespace stallscope::trace

#endif  // STALLSCOPE_ANALYZER_TRACE_WIRE_WALK_H_
