// A table of texts: what a panel lists, and its copies. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/report/document.h"

namespace stallscope::viewmodel {

struct TableColumn {
  std::string name;
  bool number = false;  // right-aligned
};

struct TableCell {
  std::string text;
  std::optional<double> bar = {};  // 0 to 1, drawn behind the text
  std::string hint = {};           // the exact figure; empty: none
};

struct Table {
  std::vector<TableColumn> columns;
  std::vector<std::vector<TableCell>> rows;  // each as long as `columns`
};

// A report's, in its words.
Table TableOf(const report::Table& table);

enum class TableForm : uint8_t { kCsv, kTsv, kMarkdown };

// CSV by RFC 4180; TSV with tabs and line breaks replaced by spaces; both put a "'" in front of
// text that a spreadsheet would run. Markdown with all markup escaped and numbers right-aligned.
std::string TextOf(const Table& table, TableForm form);

}  // namespace stallscope::viewmodel
