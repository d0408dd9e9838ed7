// Text for people at a terminal: at most 100 columns, and readable without color. Lines meant to be
// copied (patches, code, paths) are as long as they need to be. Any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/report/document.h"

namespace stallscope::report {

constexpr size_t kTextWidth = 100;

struct TextOptions {
  bool colors = false;
};

std::string WriteText(const Document& document, const TextOptions& options = {});

// --- The same look for what other commands print ---

std::string Paint(std::string_view text, Tone tone, bool colors);

// Rows of cells as aligned columns, two spaces apart, cut to `width`. The first row is the header.
// `right` lists the columns of numbers, which are right-aligned.
std::string AlignedTable(const std::vector<std::vector<std::string>>& rows,
                         const std::vector<size_t>& right, size_t width = kTextWidth);

}  // namespace stallscope::report
