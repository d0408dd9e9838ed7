// What a copy's `memcpy_details` says, in each of its dialects. Private to the room; any thread.
//
//   size:112 dest:4 async:0                                      TensorFlow up to 2.3
//   kind_src:pageable kind_dst:device size:112 dest:4 async:0    later ones, JAX
//   kind:pinned size:112 dest:0 async:1                          ROCm
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_XPLANE_COPY_DETAILS_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_XPLANE_COPY_DETAILS_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "analyzer/trace/events.h"

namespace stallscope::importers::xplane {

struct CopyDetails {
  uint64_t bytes = 0;
  std::string_view source;       // "pageable", "pinned", "device", "managed", ...; may be empty
  std::string_view destination;  //
};
CopyDetails ReadCopyDetails(std::string_view text);

// The direction of a device event with this name ("MemcpyH2D"), by the kinds of memory where the
// name does not say. Nothing where it is no copy.
std::optional<trace::CopyDirection> DirectionOf(std::string_view event, const CopyDetails& details);
// Of the host's side; the device's own copies have none.
trace::CopyMemory MemoryOf(trace::CopyDirection direction, const CopyDetails& details);

}  // namespace stallscope::importers::xplane

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_XPLANE_COPY_DETAILS_H_
