// A look at a payload's protobuf without building its objects: what limits and reservations need.
#ifndef STALLSCOPE_ANALYZER_TRACE_WIRE_WALK_H_
#define STALLSCOPE_ANALYZER_TRACE_WIRE_WALK_H_

#include <cstddef>
#include <optional>
#include <string_view>

namespace stallscope::trace {

// How many messages and strings protobuf would make of it at most. Nothing where it is no chunk: it
// breaks off, or has a group in it, which no version of the format writes.
std::optional<size_t> CountMessages(std::string_view payload);

}  // namespace stallscope::trace

#endif  // STALLSCOPE_ANALYZER_TRACE_WIRE_WALK_H_
