// What a copy's name and details say about its direction and the host's memory, in every dialect.
//
//   Memcpy HtoD (Pageable -> Device)                             Kineto's names
//   MemcpyH2D, MEMCPYHtoD, CopyHostToDevice                      TensorFlow's, JAX's, ROCm's
//   size:112 dest:4 async:0                                      details: TensorFlow up to 2.3
//   kind_src:pageable kind_dst:device size:112 dest:4 async:0    later versions, JAX
//   kind:pinned size:112 dest:0 async:1                          ROCm
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "analyzer/trace/events.h"

namespace stallscope::importers {

// The direction that a name contains.
std::optional<trace::CopyDirection> NamedDirection(std::string_view name);

struct CopyDetails {
  uint64_t bytes = 0;
  std::string_view source;       // "pageable", "pinned", "device", "managed", ...; may be empty
  std::string_view destination;  //
};
CopyDetails ReadCopyDetails(std::string_view text);

// The direction of a device event with this name: named, else by the kinds of memory. Nothing if it
// is not a copy.
std::optional<trace::CopyDirection> DirectionOf(std::string_view event, const CopyDetails& details);
// The host's memory; device-to-device copies have none.
trace::CopyMemory MemoryOf(trace::CopyDirection direction, const CopyDetails& details);

}  // namespace stallscope::importers
