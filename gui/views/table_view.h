// A table of texts, with the menu that copies it. Only on the context's thread.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "gui/session/intents.h"
#include "gui/viewmodel/table.h"

namespace stallscope::views {

struct TableLook {
  float height = 0;              // 0: as high as all rows
  bool clickable = false;        // rows react to clicks
  std::optional<size_t> chosen;  // the highlighted row
};

// Returns the clicked row. A right click on the table offers to copy it, like CopyButton.
std::optional<size_t> DrawTable(const char* id, const viewmodel::Table& table,
                                const TableLook& table_look, session::Intents& intents);

// The height with all rows.
float TableHeight(const viewmodel::Table& table);

// A table under a heading with a copy button. If it `fills` the remaining height, it scrolls.
void DrawTitledTable(const char* title, const viewmodel::Table& table, bool fills,
                     session::Intents& intents);

// A small button that offers CSV, TSV and Markdown.
void CopyButton(const char* id, const std::function<viewmodel::Table()>& table,
                session::Intents& intents);

}  // namespace stallscope::views
