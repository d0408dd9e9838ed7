// Who recorded a trace. A replay runs what the trace says, so it matters whether this user, on this
// machine, once asked for exactly that.
//
// A trace carries a keyed digest (BLAKE2b) of its spec, its folder, its command and the machine's
// id. The key is 32 random bytes in the user's state folder. A trace that came from elsewhere, or
// was changed, does not match. Rejected: comparing host and user names, which anyone who was sent a
// trace can read in it. Any thread.
#pragma once

#include <string>

#include "analyzer/trace/events.h"

namespace stallscope::system {

// For RunInfo::origin. Creates the key where there is none; empty where that fails: such a trace
// counts as recorded elsewhere.
std::string OriginOf(const trace::RunInfo& run);

bool RecordedHere(const trace::RunInfo& run);

}  // namespace stallscope::system
