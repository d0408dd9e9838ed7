// Scans a payload's protobuf without building its objects, for limits and reservations.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace stallscope::trace {

// How many messages and strings protobuf would create from it at most. Nothing if it is not a
// chunk: it is truncated, or contains a group, which no version of the format writes.
std::optional<size_t> CountMessages(std::string_view payload);

}  // namespace stallscope::trace
