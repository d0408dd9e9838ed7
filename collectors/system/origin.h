// Who recorded a trace. A re-run does what the trace says, so it matters whether this user, on this
// machine, once asked for exactly that.
//
// A trace carries a keyed digest (BLAKE2b) of its spec, its folder, its command and the machine's
// id. The key is 32 random bytes in the user's state folder. What was sent here, or was changed on
// its way, does not have the digest. A comparison of host and user names was rejected: both stand
// in any trace that was once handed on. Any thread.
#ifndef STALLSCOPE_COLLECTORS_SYSTEM_ORIGIN_H_
#define STALLSCOPE_COLLECTORS_SYSTEM_ORIGIN_H_

#include <string>

#include "analyzer/trace/events.h"

namespace stallscope::system {

// For RunInfo::origin. Makes the key where there is none; empty where none can be had: such a trace
// counts as recorded elsewhere.
std::string OriginOf(const trace::RunInfo& run);

bool RecordedHere(const trace::RunInfo& run);

}  // namespace stallscope::system

#endif  // STALLSCOPE_COLLECTORS_SYSTEM_ORIGIN_H_
