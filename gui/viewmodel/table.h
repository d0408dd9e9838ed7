// A table of texts: what a panel lists and what is copied from it. Any thread.
#ifndef STALLSCOPE_GUI_VIEWMODEL_TABLE_H_
#define STALLSCOPE_GUI_VIEWMODEL_TABLE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stallscope::viewmodel {

struct TableColumn {
  std::string name;
  bool number = false;  // stands to the right
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

enum class TableForm : uint8_t { kCsv, kTsv, kMarkdown };

// CSV as RFC 4180 has it; TSV with tabs and line breaks made spaces; in both, a text that a
// spreadsheet would run has a "'" in front. Markdown in which no text is markup, with numbers to
// the right.
std::string TextOf(const Table& table, TableForm form);

}  // namespace stallscope::viewmodel

#endif  // STALLSCOPE_GUI_VIEWMODEL_TABLE_H_
