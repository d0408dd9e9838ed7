// Some lines of a file before and after a change, and their unified diff. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/trace/events.h"

namespace stallscope::findings {

// Some whole lines of a file.
struct ChangedLines {
  uint32_t line = 0;   // of the file, at which `before` begins
  std::string before;  // as they were when the run was recorded
  std::string after;
};

// The lines that differ, without context.
struct Replacement {
  uint32_t first = 0;  // of the file, as recorded
  uint32_t last = 0;   // less than `first`: nothing is removed, `text` is inserted before `first`
  std::string text;    // the new lines
};
Replacement ReplacementOf(const ChangedLines& lines);

// With their line ends.
std::vector<std::string_view> LinesOf(std::string_view text);

// The offset of a place of the file in `before`; nothing if it is outside. Columns are in bytes.
std::optional<size_t> OffsetOf(const ChangedLines& lines, uint32_t line, uint32_t column);

// Of one file, for `patch -p1`: the path starts at the root of the checkout that the job ran in, as
// in git and in reviews. Empty if nothing differs, or if a diff cannot have the name.
std::string UnifiedDiff(const std::string& file, const std::vector<ChangedLines>& changed,
                        const trace::RunInfo& run);

}  // namespace stallscope::findings
