// Some lines of a file before and after a change, and a unified diff of them. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/trace/events.h"

namespace stallscope::findings {

// Some lines of a file, whole ones.
struct ChangedLines {
  uint32_t line = 0;   // of the file, that `before` begins with
  std::string before;  // as they were when the run was recorded
  std::string after;
};

// The lines of both sides that differ, without those around them.
struct Replacement {
  uint32_t first = 0;  // of the file, as it was
  uint32_t last = 0;   // below `first`: nothing is taken away, `text` is put before it
  std::string text;    // instead; whole lines
};
Replacement ReplacementOf(const ChangedLines& lines);

// With what ends each.
std::vector<std::string_view> LinesOf(std::string_view text);

// Where a place of the file is in `before`; nothing for one outside of it. A column in bytes.
std::optional<size_t> OffsetOf(const ChangedLines& lines, uint32_t line, uint32_t column);

// Of one file, for `patch -p1`: its path is from the root of the checkout that the job ran in, as
// git and reviews have it. Empty where nothing differs, or for a name that no diff can have.
std::string UnifiedDiff(const std::string& file, const std::vector<ChangedLines>& changed,
                        const trace::RunInfo& run);

}  // namespace stallscope::findings
