// Text for people at a terminal: at most 80 columns, and readable without color. Lines meant to be
// copied (patches, code, paths) are as long as they need to be. Any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/report/document.h"
#include "analyzer/words/words.h"

namespace stallscope::report {

using words::kTextWidth;

struct TextOptions {
  bool colors = false;
};

std::string WriteText(const Document& document, const TextOptions& options = {});

// --- The same look for what other commands print ---

std::string Paint(std::string_view text, Tone tone, bool colors);

// Rows of cells as aligned columns, two spaces apart, at most `width` wide. The first row is the
// header; `right` lists the columns of numbers, which are right-aligned. Text and titles that do
// not fit continue on the next line, because they may be names to copy. If that is not enough,
// columns are omitted, text first, from the right, never the first one; a line after the table
// names them.
std::string AlignedTable(const std::vector<std::vector<std::string>>& rows,
                         const std::vector<size_t>& right, size_t width = kTextWidth);

}  // namespace stallscope::report
