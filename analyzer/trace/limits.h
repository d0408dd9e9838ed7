// The most that a reader accepts. A length, count or depth past these is refused before memory is
// spent on it; writers stay within them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stallscope::trace {

constexpr size_t kMaxPayload = size_t{1} << 20;
// A builder past this size is written out; the rest of kMaxPayload is for names and the last events
// added.
constexpr size_t kFullPayload = size_t{768} << 10;

// Messages in one payload: protobuf spends up to a hundred bytes on each, however short.
constexpr size_t kMaxMessagesInPayload = 65'536;

constexpr size_t kMaxStages = 4'096;
constexpr size_t kMaxQueues = 8'191;  // a wait in the recorder's ring has 13 bits for one
constexpr size_t kMaxTracks = 65'536;
constexpr size_t kMaxCounters = 16'384;
constexpr size_t kMaxProcesses = 16'384;
constexpr size_t kMaxLoaders = 1'024;
constexpr size_t kMaxOps = 65'536;
constexpr size_t kMaxCodeLines = 4'096;      // functions
constexpr size_t kMaxLinesOfFunction = 256;  // measured ones
constexpr size_t kMaxStrings = 1 << 20;
constexpr size_t kMaxSpanClasses = 65'535;
constexpr size_t kMaxTalliesInSeal = 4'096;  // more go into additional seal frames

constexpr size_t kMaxArguments = 1'024;  // of the command line, and warnings
constexpr size_t kMaxListBytes = 64 << 10;

constexpr size_t kMaxNameBytes = 4'096;
constexpr size_t kMaxStageSettings = 16;     // more are left out,
constexpr size_t kMaxSettingBytes = 512;     // and longer values are cut
constexpr size_t kMaxTextBytes = 256 << 10;  // a spec, a graph

// Times are within -2^62 .. 2^62 - 1 ns (146 years), so that the difference of any two is an
// int64_t.
constexpr int64_t kMaxTimeNs = (int64_t{1} << 62) - 1;
constexpr int64_t kMinTimeNs = -kMaxTimeNs - 1;

constexpr int64_t ClampTime(int64_t ns) {
  return ns < kMinTimeNs ? kMinTimeNs : ns > kMaxTimeNs ? kMaxTimeNs : ns;
}
constexpr bool IsTime(int64_t ns) { return ns >= kMinTimeNs && ns <= kMaxTimeNs; }

}  // namespace stallscope::trace
