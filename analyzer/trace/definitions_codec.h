// Definitions as messages: what has a name, and what is known of the run. Private to the room: it
// shows protobuf. Any thread.
#pragma once

#include "analyzer/trace/chunk.h"
#include "analyzer/trace/trace.pb.h"

namespace stallscope::trace {

void Encode(const Definitions& from, wire::Definitions& to);
// Takes what is in `from`. Times are clamped; ids are as the file has them.
Definitions Decode(wire::Definitions& from);

}  // namespace stallscope::trace
